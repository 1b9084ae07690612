//! Weights on disk: which bytes a weight becomes, chosen once all of them are known.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::types::WeightKind;

/// How a weight is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightCode {
    /// What it is.
    pub kind: WeightKind,
    /// Bytes in the graph's sections.
    pub bytes: usize,
}

impl WeightCode {
    /// No weights.
    pub const NONE: Self = Self { kind: WeightKind::None, bytes: 0 };

    /// Bytes in a spill record.
    pub fn spill_bytes(&self) -> usize {
        self.bytes
    }

    /// A weight's bits.
    #[inline(always)]
    pub fn encode(&self, weight: f64) -> u64 {
        match self.kind {
            WeightKind::None => 0,
            WeightKind::U32 => weight as u64,
            WeightKind::F32 => u64::from((weight as f32).to_bits()),
            WeightKind::F64 => weight.to_bits(),
        }
    }

    /// The order among parallel edges: numeric for weights that are not negative.
    pub fn is_none(&self) -> bool {
        self.bytes == 0
    }
}

/// What is learned of the weights while they pass.
#[derive(Debug, Default)]
pub struct WeightSurvey {
    not_u32: AtomicBool,
    negative: AtomicBool,
    largest: AtomicU64,
}

impl WeightSurvey {
    /// Looks at a batch.
    pub fn see(&self, weights: &[f64]) {
        let (mut largest, mut negative, mut whole) = (0.0f64, false, true);
        for &weight in weights {
            largest = largest.max(weight);
            negative |= weight < 0.0;
            whole &= weight.trunc() == weight && (0.0..4_294_967_296.0).contains(&weight);
        }
        if negative {
            self.negative.store(true, Relaxed);
        }
        if !whole {
            self.not_u32.store(true, Relaxed);
        }
        self.largest.fetch_max(largest as u64, Relaxed);
    }

    /// Whether some weight is below zero.
    pub fn negative(&self) -> bool {
        self.negative.load(Relaxed)
    }

    /// The code for `wanted`, or without a wish the narrowest kind that loses nothing.
    pub fn code(&self, wanted: Option<WeightKind>) -> WeightCode {
        let kind = wanted.unwrap_or(if self.not_u32.load(Relaxed) {
            WeightKind::F64
        } else {
            WeightKind::U32
        });
        let bytes = match kind {
            WeightKind::None => 0,
            WeightKind::U32 => match self.largest.load(Relaxed) {
                0..=0xff => 1,
                0x100..=0xffff => 2,
                _ => 4,
            },
            WeightKind::F32 => 4,
            WeightKind::F64 => 8,
        };
        WeightCode { kind, bytes }
    }
}
