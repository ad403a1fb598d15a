"""The policies and the simulator once more, in plain Python, sharing nothing with the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from instances.handover import HandoverTrace

FINISHED = 1.0 - 1e-12


@dataclass
class User:
    """One active user."""

    cache: float
    ceiling: float
    sharpness: float
    anchor: float
    arrival: float
    received: float = 0.0

    def accuracy(self, y: float) -> float:
        """Return A(y) of (6)."""
        u = self.sharpness * (y - self.anchor)
        return self.ceiling / 2 * (1 + u / math.sqrt(1 + u * u))

    def slope(self, y: float) -> float:
        """Return A'(y) of (7)."""
        u = self.sharpness * (y - self.anchor)
        return self.ceiling * self.sharpness / 2 / (1 + u * u) ** 1.5

    def level(self, price: float) -> float:
        """Return W(price) of (9), by (12)."""
        ratio = self.ceiling * self.sharpness / (2 * price * self.cache)
        if ratio <= 1:
            return self.anchor
        return min(1.0, self.anchor + math.sqrt(ratio ** (2 / 3) - 1) / self.sharpness)

    @property
    def floor(self) -> float:
        """The fraction from which the curve is concave, or what was received."""
        return max(self.received, self.anchor)

    @property
    def is_below(self) -> bool:
        """Whether it is below its anchor by more than the rounding of an earlier lift."""
        return self.received < self.anchor * (1 - 1e-12)

    @property
    def room(self) -> float:
        """Bits that are missing."""
        return self.cache * (1 - self.received)


Bits = list[float]


def halved(excess: Callable[[float], float], low: float, high: float) -> float:
    """Return the log price at which a falling function crosses 0, from above."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def water_fill(users: Sequence[User], capacity: float) -> Bits:
    """Return the bits of Theorem 1."""
    if sum(u.room for u in users) <= capacity:
        return [u.room for u in users]

    def bits(log_price: float) -> Bits:
        return [u.cache * (max(u.received, u.level(math.exp(log_price))) - u.received) for u in users]

    low = min(math.log(u.slope(1.0) / u.cache) for u in users)
    high = max(math.log(u.slope(u.anchor) / u.cache) for u in users)
    return bits(halved(lambda p: sum(bits(p)) - capacity, low, high))


def shared(rooms: Sequence[float], capacity: float) -> Bits:
    """Return equal shares, capped, with what is freed shared among the others."""
    bits, left, open_users = [0.0] * len(rooms), capacity, [i for i, r in enumerate(rooms) if r > 0]
    while open_users and left > 0:
        part = left / len(open_users)
        full = [i for i in open_users if rooms[i] - bits[i] <= part]
        for i in full or open_users:
            given = rooms[i] - bits[i] if full else part
            bits[i] += given
            left -= given
        open_users = [i for i in open_users if i not in full] if full else []
    return bits


def equalised_bytes(users: Sequence[User], capacity: float) -> Bits:
    """Return the fallback EB of Section V-B."""
    return shared([u.room if u.is_below else 0.0 for u in users], capacity)


def winner_take_all(users: Sequence[User], capacity: float) -> Bits:
    """Return the cascading greedy rule."""
    bits, left, rest = [0.0] * len(users), capacity, list(range(len(users)))
    while left > 0 and rest:

        def gain(i: int, left: float = left) -> float:
            u = users[i]
            return u.accuracy(min(1.0, u.received + left / u.cache)) - u.accuracy(u.received)

        best = max(rest, key=lambda i: (gain(i), -i))
        rest.remove(best)
        bits[best] = min(left, users[best].room)
        left -= bits[best]
    return bits


def drop_lowest(users: Sequence[User], capacity: float) -> Bits:
    """Return Theorem 1 for those who are left when the flattest sub-anchor users are left out one by one."""
    below = [i for i, u in enumerate(users) if u.is_below]
    by_slope = sorted(below, key=lambda i: (-users[i].slope(users[i].anchor) / users[i].cache, i))
    while by_slope:
        if sum(users[i].cache * (users[i].anchor - users[i].received) for i in by_slope) <= capacity:
            chosen = [i for i, u in enumerate(users) if not u.is_below or i in by_slope]
            found = dict(zip(chosen, water_fill([users[i] for i in chosen], capacity), strict=True))
            return [found.get(i, 0.0) for i in range(len(users))]
        by_slope.pop()
    return equalised_bytes(users, capacity)


def without_floor(users: Sequence[User], capacity: float) -> Bits:
    """Return the demand of the smallest price at which it fits, when it jumps by the way to the anchor."""

    def bits(log_price: float) -> Bits:
        price = math.exp(log_price)
        return [
            u.cache * (max(u.floor, u.level(price)) - u.received)
            if price * u.cache < u.slope(u.floor)
            else 0.0
            for u in users
        ]

    low = min(math.log(u.slope(1.0) / u.cache) for u in users) - 1.0
    high = max(math.log(u.slope(u.anchor) / u.cache) for u in users) + 1e-9
    return bits(halved(lambda p: sum(bits(p)) - capacity, low, high))


def equal(users: Sequence[User], capacity: float) -> Bits:
    """Return C/N each, capped."""
    return [min(capacity / len(users), u.room) for u in users]


def proportional_fair(users: Sequence[User], capacity: float) -> Bits:
    """Return a common level on cumulative bits, by halving."""
    if sum(u.room for u in users) <= capacity:
        return [u.room for u in users]

    def bits(level: float) -> Bits:
        return [max(0.0, min(u.cache, level) - u.cache * u.received) for u in users]

    low, high = 0.0, max(u.cache for u in users)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(bits(middle)) < capacity else (low, middle)
    return bits(low)


FALLBACKS: dict[str, Callable[[Sequence[User], float], Bits]] = {
    "water-filling-bisection": equalised_bytes,
    "water-filling": equalised_bytes,
    "water-filling+wta": winner_take_all,
    "water-filling+drop-lowest": drop_lowest,
    "no-admission": without_floor,
}
ALWAYS: dict[str, Callable[[Sequence[User], float], Bits]] = {
    "equal": equal,
    "winner-take-all": winner_take_all,
    "proportional-fair": proportional_fair,
}


def give(policy: str, users: Sequence[User], capacity: float) -> Bits:
    """Return the bits of a policy in one slot."""
    if policy in ALWAYS:
        return ALWAYS[policy](users, capacity)
    needed = sum(u.cache * max(0.0, u.anchor - u.received) for u in users)
    return (water_fill if needed <= capacity else FALLBACKS[policy])(users, capacity)


def simulate(trace: HandoverTrace, policy: str) -> list[float]:
    """Return the fractions that the users have at their windows' ends."""
    columns = [trace.users.cache_bits, trace.users.ceiling, trace.users.sharpness, trace.users.anchor]
    users = [User(*map(float, row)) for row in zip(*columns, trace.users.arrival_s, strict=True)]
    length, width = Fraction(repr(trace.slot_s)), trace.window_slots
    assert isinstance(width, int)
    firsts = [int(Fraction(repr(u.arrival)) / length) + 1 for u in users]
    capacity = float(Fraction(repr(trace.bandwidth_bps)) * length)
    for slot in range(max(firsts) + width):
        there = [
            u for u, f in zip(users, firsts, strict=True) if f <= slot < f + width and u.received < FINISHED
        ]
        if there:
            for user, bits in zip(there, give(policy, there, capacity), strict=True):
                user.received = min(1.0, user.received + bits / user.cache)
    return [u.received for u in users]
