//! Edges of a recursive matrix, eight at a time in the registers of AVX-512: the same as those of
//! [`super::rmat`], in a quarter of the time.

use std::arch::x86_64::*;

use super::{Draws, LANES};

/// Eight numbers of 64 bits in a register.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn load(numbers: [u64; LANES]) -> __m512i {
    // SAFETY: the array has as many bytes as the register, and need not be aligned.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn store(register: __m512i) -> [u64; LANES] {
    let mut numbers = [0; LANES];
    // SAFETY: the array has as many bytes as the register, and need not be aligned.
    unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), register) };
    numbers
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn all(number: u64) -> __m512i {
    _mm512_set1_epi64(number as i64)
}

/// [`super::mix`].
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn mix(value: __m512i) -> __m512i {
    let value = _mm512_xor_si512(value, _mm512_srli_epi64::<30>(value));
    let value = _mm512_mullo_epi64(value, all(super::FIRST));
    let value = _mm512_xor_si512(value, _mm512_srli_epi64::<27>(value));
    let value = _mm512_mullo_epi64(value, all(super::SECOND));
    _mm512_xor_si512(value, _mm512_srli_epi64::<31>(value))
}

/// [`super::permute`].
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn permute(id: __m512i, bits: u32, keys: &[u64; 4]) -> __m512i {
    let mask = all((1 << bits) - 1);
    let half = _mm_cvtsi64_si128(i64::from(bits.div_ceil(2)));
    keys.iter().fold(id, |id, &key| {
        let id = _mm512_add_epi64(_mm512_mullo_epi64(id, all(key)), all(key >> 17));
        let id = _mm512_and_si512(id, mask);
        _mm512_xor_si512(id, _mm512_srl_epi64(id, half))
    })
}

/// [`super::draws_of`].
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn draws_of(seed: u64, number: u64) -> [Draws; LANES] {
    let lanes = load(std::array::from_fn(|lane| number.wrapping_add(lane as u64)));
    store(mix(_mm512_xor_si512(all(seed), mix(lanes)))).map(Draws)
}

/// [`super::rmat`].
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn rmat(
    scale: u32,
    thresholds: &[u32; 3],
    keys: Option<&[u64; 4]>,
    draws: &mut [Draws; LANES],
) -> [[u64; 2]; LANES] {
    let [a, b, c] = thresholds.map(|bound| all(u64::from(bound)));
    let (one, low, step) = (all(1), all(0xffff_ffff), all(super::STEP));
    let (mut sources, mut targets) = (all(0), all(0));
    let mut state = load(draws.each_ref().map(|draws| draws.0));
    let mut bits = all(0);
    for level in 0..scale {
        bits = if level % 2 == 0 {
            state = _mm512_add_epi64(state, step);
            mix(state)
        } else {
            _mm512_srli_epi64::<32>(bits)
        };
        let draw = _mm512_and_si512(bits, low);
        let beyond_a = _mm512_cmpge_epu64_mask(draw, a);
        let beyond_b = _mm512_cmpge_epu64_mask(draw, b);
        let beyond_c = _mm512_cmpge_epu64_mask(draw, c);
        sources = _mm512_add_epi64(sources, sources);
        targets = _mm512_add_epi64(targets, targets);
        sources = _mm512_mask_add_epi64(sources, beyond_b, sources, one);
        targets = _mm512_mask_add_epi64(targets, beyond_a ^ beyond_b ^ beyond_c, targets, one);
    }
    *draws = store(state).map(Draws);
    if let Some(keys) = keys {
        sources = permute(sources, scale, keys);
        targets = permute(targets, scale, keys);
    }
    let (sources, targets) = (store(sources), store(targets));
    std::array::from_fn(|lane| [sources[lane], targets[lane]])
}
