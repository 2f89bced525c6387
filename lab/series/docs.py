# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents of the series: `make htmldocs` and Sphinx have nothing against them."""

import re
from collections import Counter
from pathlib import Path

from lab.building import linux
from lab.building.qemu_tree import PATCHES
from lab.common import proc
from lab.common.check import good, run
from lab.series import selftest

FOLDER = "virt/kvm"
LINE = re.compile(r"^(\S+\.rst):\d+: (WARNING|ERROR|SEVERE|CRITICAL): (.*)$", re.MULTILINE)
PAGE = "docs/system/i386/lwp.rst"


def warnings(text: str) -> Counter[str]:
    """What Sphinx warns of, without the numbers of lines."""
    return Counter(f"{Path(name).name}: {what}: {rest}" for name, what, rest in LINE.findall(text))


def _htmldocs(tree: Path, out: Path) -> Counter[str]:
    command: list[proc.Word] = ["make", "-C", tree, f"O={out}", "ARCH=x86_64", f"SPHINXDIRS={FOLDER}", "htmldocs"]
    ended = run(command)
    assert ended.status == 0
    return warnings(ended.said)


def of_linux(work: Path) -> None:
    """With the series there are no warnings that there were not before."""
    tree, out = selftest.whole_tree(work), work / "htmldocs"
    before = _htmldocs(linux.fetch_all(linux.fetch_series()), work / "htmldocs-base")
    new = _htmldocs(tree, out) - before
    assert not new, "\n".join(new)
    pages = "".join(page.read_text(encoding="utf-8") for page in out.rglob("*.html"))
    left = [name for name in ("KVM_CAP_X86_LWP", "KVM_LWP_VM_POLICY", "KVM_LWP_VCPU_LIVE") if name not in pages]
    assert not left, f"not in the pages: {' '.join(left)}"


def of_qemu(work: Path) -> None:
    """QEMU's page of LWP, by itself; warnings are errors."""
    out = work / "qemu-docs"
    page = PATCHES / PAGE
    options = ["-q", "-W", "--keep-going", "-n", "-C", "-D", f"master_doc={page.stem}", "-b", "html"]
    good(["sphinx-build", *options, page.parent, out])
    assert "lwp-context" in (out / f"{page.stem}.html").read_text(encoding="utf-8"), "the page is empty"
