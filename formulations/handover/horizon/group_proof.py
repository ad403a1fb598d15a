"""A group's tree as a document that a verifier can follow without the method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.branching import Tree
from formulations.handover.horizon.groups import Range
from formulations.handover.horizon.segments import Horizon

__all__ = ["group_document"]


def group_document(horizon: Horizon, span: Range, place: NDArray[np.int64], tree: Tree) -> dict[str, Any]:
    """Return the group's users, its runs of slots and its tree.

    Returns
    -------
    ``users``: indices in the instance. ``runs``: [first slot, number of slots] of each segment. ``nodes``:
    the tree from its root, either ``user``, ``at`` (a fraction) and the nodes ``below`` and ``above`` it, or
    the segments' ``prices``, accuracy per bit.
    """
    nodes: list[Any] = []
    for k, split in enumerate(tree.split.tolist()):
        if split < 0:
            nodes.append({"prices": tree.price[k].tolist()})
        else:
            child = int(tree.child[k])
            user = int(horizon.user[place[split]])
            nodes.append({"user": user, "at": float(tree.point[k]), "below": child, "above": child + 1})
    runs = zip(
        horizon.start[span.low : span.high].tolist(),
        horizon.slots[span.low : span.high].tolist(),
        strict=True,
    )
    return {
        "users": horizon.user[place[place >= 0]].tolist(),
        "runs": [list(run) for run in runs],
        "nodes": nodes,
    }
