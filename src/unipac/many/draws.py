"""Random numbers that are functions of a seed and a place: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011).

The key is the seed, 64 bits; the counter is (round, position, purpose), where the round takes two of four words. So
round k of seed s needs nothing that came before, and every processor draws the same words. Two words make two normal
numbers by the formula of Box and Muller, with polynomials in place of logarithm, sine and cosine. These are sums and
products of float64 and a root, so processors differ only where a compiler contracts products (by a relative 1e-15).
The polynomials are exact to 4e-8, and so is the distribution.
"""

from __future__ import annotations

import math

import numpy as np

from unipac._jit import inlined

Word = np.uint32

LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)

CONTEXTS, NOISE, LENGTHS = np.uint32(0), np.uint32(1), np.uint32(2)
"""The purposes for which words are drawn."""

_ONE, _REST, _NEXT, _TOP = np.uint32(1), np.uint32((1 << 30) - 1), np.uint32(1 << 30), np.uint32(1 << 31)
_HALVES = (16, 8, 4, 2, 1)
_S16, _S8, _S4, _S2, _S1 = (np.uint64(step) for step in _HALVES)
_T16, _T8, _T4, _T2, _T1 = (np.uint32(1 << (32 - step)) for step in _HALVES)
_LOG2 = math.log(2.0)
_UNIT, _QUARTER = 2.0**-32, 2.0**-30


@inlined
def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> tuple[Word, Word, Word, Word]:
    """Four words of 32 bits for a counter of four words and a key of two.

    Every result is converted back to 32 bits, since a GPU multiplies words faster than numbers of 64 bits.
    """
    for _ in range(10):
        p0, p1 = _M0 * np.uint64(c0), _M1 * np.uint64(c2)
        c0 = np.uint32(np.uint32(p1 >> HALF) ^ c1 ^ k0)
        c1 = np.uint32(p1 & LOW)
        c2 = np.uint32(np.uint32(p0 >> HALF) ^ c3 ^ k1)
        c3 = np.uint32(p0 & LOW)
        k0 = np.uint32((np.uint64(k0) + _W0) & LOW)
        k1 = np.uint32((np.uint64(k1) + _W1) & LOW)
    return c0, c1, c2, c3


@inlined
def words(seed: np.uint64, number: np.uint64, position: Word, purpose: Word) -> tuple[Word, Word, Word, Word]:
    """Four words of a seed, a round, a position in it and a purpose."""
    low, high = np.uint32(number & LOW), np.uint32(number >> HALF)
    return philox(low, high, position, purpose, np.uint32(seed & LOW), np.uint32(seed >> HALF))


@inlined
def _shifted(a: Word, by: np.uint64) -> Word:
    return np.uint32((np.uint64(a) << by) & LOW)


@inlined
def minus_log(word: Word) -> float:
    """−log u for u = (word | 1)/2^32 in (0, 1): with u = 2^-e (1 − g) it is e log 2 + g q(g), q a polynomial."""
    a = np.uint32(word | _ONE)
    e = 0.0
    if a < _T16:
        a, e = _shifted(a, _S16), 16.0
    if a < _T8:
        a, e = _shifted(a, _S8), e + 8.0
    if a < _T4:
        a, e = _shifted(a, _S4), e + 4.0
    if a < _T2:
        a, e = _shifted(a, _S2), e + 2.0
    if a < _T1:
        a, e = _shifted(a, _S1), e + 1.0
    g = 1.0 - float(a) * _UNIT
    q = 1.4079567028635502 * g - 1.6302116903983566
    q = q * g + 1.2050138964472943
    q = q * g - 0.18157164776234336
    q = q * g + 0.2645475838387454
    q = q * g + 0.2434374400986204
    q = q * g + 0.3336619917565396
    q = q * g + 0.4999937467729804
    q = q * g + 1.0000000193555454
    return e * _LOG2 + g * q


@inlined
def normals(a: Word, b: Word) -> tuple[float, float]:
    """Two independent standard normal numbers from two words.

    The first word gives the length. The lowest 30 bits of the second give an angle in (−π/4, π/4); the next bit
    mirrors it into the next quarter, and the highest bit turns it by π.
    """
    length = math.sqrt(2.0 * minus_log(a))
    x = (float(np.uint32(b & _REST)) + 0.5) * _QUARTER - 0.5
    v = x * x
    sin = x * (
        ((-0.004602149212814176 * v + 0.07968021764775542) * v - 0.6459634776648118) * v + 1.5707963219532366
    )
    cos = (
        (-0.020408158392998334 * v + 0.25359857130254576) * v - 1.2336970074214912
    ) * v + 0.9999999723284944
    signed = length if b < _TOP else -length
    if b & _NEXT == 0:
        return signed * cos, signed * sin
    return signed * sin, signed * cos
