# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp patch: the patches of a base as commits of a git repository, which is thrown away afterwards."""
