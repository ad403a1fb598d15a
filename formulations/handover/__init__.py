"""The handover problem: share a backhaul among moving KV caches."""
