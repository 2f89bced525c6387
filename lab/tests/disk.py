# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk for snapshots, which no device of the guest uses."""

from pathlib import Path

from lab.common.qmp import Vm

BYTES = 256 << 20


class Disk:
    """Of a machine. A file that is there has what another machine has saved."""

    def __init__(self, vm: Vm, path: Path):
        self.vm, there = vm, path.is_file()
        path.touch()
        vm.do("blockdev-add", **{"driver": "file", "node-name": "file", "filename": str(path)})
        if not there:
            options = {"driver": "qcow2", "file": "file", "size": BYTES}
            vm.do("blockdev-create", **{"job-id": "job", "options": options})
            self._ended()
        vm.do("blockdev-add", **{"driver": "qcow2", "node-name": "disk", "file": "file"})

    def _ended(self) -> str:
        """A job is over. Result: why it has failed, empty if it has not."""
        while (job := self.vm.do("query-jobs")[0])["status"] != "concluded":
            self.vm.event("JOB_STATUS_CHANGE")
        self.vm.do("job-dismiss", id=job["id"])
        return str(job.get("error", ""))

    def job(self, name: str, tag: str) -> str:
        """snapshot-save or snapshot-load. Result: why it has failed, empty if it has not."""
        self.vm.do(name, **{"job-id": "job", "tag": tag, "vmstate": "disk", "devices": ["disk"]})
        return self._ended()

    def save(self, tag: str) -> None:
        """It must succeed. The tag is no number: qcow2 takes that for the snapshot's place in its table."""
        assert not self.job("snapshot-save", tag)

    def load(self, tag: str) -> None:
        """It must succeed."""
        assert not self.job("snapshot-load", tag)
