"""A chain's trees as documents that a verifier can follow without the method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.branching import Tree
from formulations.handover.horizon.period_search import Proof
from formulations.handover.horizon.segments import Horizon

__all__ = ["group_documents"]


def group_documents(horizon: Horizon, proof: Proof) -> list[dict[str, Any]]:
    """Return each group's users, its runs of slots and its tree.

    Returns
    -------
    ``users``: indices in the instance. ``runs``: [first slot, number of slots] of each segment. ``nodes``:
    the tree from its root, either ``user``, ``at`` (a fraction) and the nodes ``below`` and ``above`` it, or
    the segments' ``prices``, accuracy per bit.
    """
    runs = np.column_stack((horizon.start, horizon.slots)).tolist()
    return [
        {
            "users": horizon.user[proof.chain.users(g)].tolist(),
            "runs": runs[proof.chain.segments(g)],
            "nodes": tree_nodes(horizon, tree, place),
        }
        for g, (tree, place) in enumerate(proof.trees)
    ]


def tree_nodes(horizon: Horizon, tree: Tree, place: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return the nodes of a tree whose users have these places in the horizon."""
    nodes: list[dict[str, Any]] = []
    for k, split in enumerate(tree.split.tolist()):
        if split < 0:
            nodes.append({"prices": tree.price[k].tolist()})
        else:
            child = int(tree.child[k])
            user = int(horizon.user[place[split]])
            nodes.append({"user": user, "at": float(tree.point[k]), "below": child, "above": child + 1})
    return nodes
