//! What can be asked of a run by name.

use outercore_caches::SubBlocks;
use outercore_storage::{
    BlockSize, Bytes, HugePages, IoScheduling, Resources, backend::IoBackend, settings,
    settings::Depth,
};

use crate::{
    config::{QUEUE_DEPTH, RunConfig},
    switches::{
        CostFormula, CrossIteration, MemoryModel, Precompute, Preset, ReadPolicy, SearchDirection,
    },
};

settings! {
    /// How a run reads. What it may use is [`Resources`].
    pub struct RunSettings {
        /// What is kept in memory.
        model: Option<MemoryModel> = ("model", "MODEL", "chosen from the budget"),
        /// How edges are read.
        read: Option<ReadPolicy> = ("read", "READ", "auto"),
        /// How reads are submitted.
        io: Option<IoBackend> = ("io", "IO", "auto"),
        /// Whether buffers and vertex arrays lie in huge pages.
        huge_pages: Option<HugePages> = ("huge-pages", "HUGE_PAGES", "auto"),
        /// Bytes of a block of on-demand reading.
        block: Option<BlockSize> = ("block", "SIZE", "4096"),
        /// Most bytes between two wanted blocks that are read along.
        max_gap: Option<Bytes> = ("max-gap", "SIZE", "from the device's profile"),
        /// Most bytes of one request.
        max_request: Option<Bytes> = ("max-request", "SIZE", "from the device's profile"),
        /// Whether a pass over the edges serves more than one iteration, in fully-external runs.
        cross_iteration: Option<CrossIteration> = ("cross-iteration", "CROSS_ITERATION", "on"),
        /// Which of the grid's chunks stay in memory between passes, in fully-external runs.
        sub_blocks: Option<SubBlocks> = ("sub-blocks", "SUB_BLOCKS", "on"),
        /// Whether vertices of the next iteration are computed in this one when their lists are
        /// near, in runs of programs that allow it.
        precompute: Option<Precompute> =
            ("precompute", "PRECOMPUTE", "off; gap with --preset seraph"),
        /// Behave like a published system, as a yardstick; sets several of the above.
        preset: Option<Preset> = ("preset", "PRESET", "best"),
        /// How on-demand requests are made.
        io_scheduling: Option<IoScheduling> = ("io-scheduling", "HOW", "bitmap"),
        /// Whether a thread that has read its share of the lists takes from the others'.
        stealing: Option<bool> = ("stealing", "STEALING", "on"),
        /// By which formula iterations choose between the grid and lists.
        cost: Option<CostFormula> = ("cost", "FORMULA", "measured"),
        /// From which side of a level searches follow edges.
        direction: Option<SearchDirection> = ("direction", "DIRECTION", "auto"),
        /// Requests for lists that each thread keeps in flight.
        queue_depth: Option<Depth> = ("queue-depth", "N", "64"),
        /// Threads that submit reads and wait for them, each for one of the threads that compute or
        /// for several, on its core. With 0 these do it themselves.
        io_threads: Option<usize> = ("io-threads", "N", "0"),
        /// Memory, of the budget, for the blocks of lists that were used last. Nothing else keeps
        /// lists that were read then.
        page_cache: Option<Bytes> = ("page-cache", "SIZE", ""),
        /// Memory, of the budget, for the lists of vertices that `outercore cache` has selected.
        static_cache: Option<Bytes> = ("static-cache", "SIZE", ""),
    }
}

impl RunSettings {
    /// The configuration of a run. What is asked for by itself goes before what belongs to a
    /// preset, and that before what is usual.
    pub fn config(&self, using: &Resources) -> RunConfig {
        let preset = self.preset.unwrap_or_default();
        let (read, cross_iteration, sub_blocks, _) = preset.settings();
        let (block, gap) = preset.fine();
        RunConfig {
            memory: using.memory(),
            threads: using.threads(),
            model: self.model,
            read: self.read.unwrap_or(read),
            io: self.io.unwrap_or_default(),
            huge_pages: self.huge_pages.unwrap_or_default(),
            block: self.block.or(block).unwrap_or_default().bytes(),
            max_gap: self.max_gap.map(|bytes| bytes.0).or(gap),
            max_request: self.max_request.map(|bytes| bytes.0),
            cross_iteration: self.cross_iteration.unwrap_or(cross_iteration),
            preset,
            io_scheduling: self.io_scheduling.unwrap_or_default(),
            sub_blocks: self.sub_blocks.unwrap_or(sub_blocks),
            stealing: self.stealing.unwrap_or(true),
            cost: self.cost.unwrap_or_default(),
            direction: self.direction.unwrap_or_default(),
            queue_depth: self.queue_depth.map_or(QUEUE_DEPTH, |depth| depth.0),
            io_threads: self.io_threads.unwrap_or(0),
            precompute: self.precompute,
            page_cache: self.page_cache.map(|bytes| bytes.0),
            static_cache: self.static_cache.map(|bytes| bytes.0),
        }
    }
}

impl Default for RunConfig {
    /// What is usual, in half of the machine's memory.
    fn default() -> Self {
        RunSettings::default().config(&Resources::default())
    }
}

#[cfg(test)]
mod tests {
    use outercore_storage::Settings;

    use super::*;

    fn asked(switches: &[(&str, &str)]) -> RunConfig {
        let mut settings = RunSettings::default();
        for (switch, text) in switches {
            assert_eq!(settings.set(switch, text), Some(Ok(())), "{switch}");
        }
        settings.config(&Resources::default())
    }

    #[test]
    fn what_is_asked_for_goes_before_what_belongs_to_a_preset() {
        let streaming = asked(&[("preset", "streaming")]);
        assert_eq!(
            (streaming.read, streaming.cross_iteration, streaming.sub_blocks),
            (ReadPolicy::Full, CrossIteration::Off, SubBlocks::Off)
        );
        let both = asked(&[("read", "on-demand"), ("preset", "streaming"), ("sub-blocks", "on")]);
        assert_eq!(
            (both.read, both.cross_iteration, both.sub_blocks, both.preset),
            (ReadPolicy::OnDemand, CrossIteration::Off, SubBlocks::On, Preset::Streaming)
        );
        assert_eq!(asked(&[("preset", "seraph")]).early(), Some(Precompute::Gap));
        assert_eq!(asked(&[("preset", "seraph"), ("precompute", "off")]).early(), None);
    }

    #[test]
    fn what_is_usual_is_said_once() {
        let depth = RunSettings::SWITCHES.iter().find(|switch| switch.name == "queue-depth");
        assert_eq!(depth.unwrap().default, QUEUE_DEPTH.to_string());
        let graphene = asked(&[("preset", "graphene")]);
        assert_eq!((graphene.block, graphene.max_gap), (512, Some(8192)));
    }

    #[test]
    fn every_switch_has_a_usual_value_that_is_one() {
        for switch in RunSettings::SWITCHES {
            let first = switch.default.split(';').next().unwrap_or_default();
            let named = switch.choices.iter().any(|choice| choice.name == first);
            assert!(
                named || switch.choices.is_empty() || switch.name == "model",
                "{}",
                switch.name
            );
            for choice in switch.choices {
                assert_eq!((switch.check)(choice.name), Ok(()), "{} {}", switch.name, choice.name);
            }
            let error = (switch.check)("none of them").unwrap_err();
            assert!(error.contains("none of them"), "{error}");
        }
    }
}
