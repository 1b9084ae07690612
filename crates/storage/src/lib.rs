//! Bytes on devices: the lowest layer of Outercore. It knows files, pages, buffers and requests,
//! and nothing of graphs.
//!
//! - [`arena`]: [`Arena`], one huge-page mapping, and [`Buffer`], an exclusive slice of one;
//!   `mapping`: how the system gives it, in pages of which size.
//! - [`bitmap`]: [`Bitmap`], a set of numbers; [`promote`](fn@promote): those that are near others.
//! - [`disk`]: [`Disk`] and [`DiskFile`], every synchronous file operation, counted, and failing on
//!   purpose when asked.
//! - [`hidden`]: names of what is being written. What a crash leaves of it can be told and removed.
//! - [`fault`]: [`FaultPlan`], which operation fails, how, and how often.
//! - `fence`: what an address sanitizer is told of our memory.
//! - [`backend`]: [`Queue`], asynchronous direct reads: `uring`, `blocking`, `memory`, each of
//!   which may be wrapped by faults.
//! - [`reader`]: [`Reader`], a queue and the memory that it reads into.
//! - [`stripe`]: [`StripedFile`], the only place that knows which directory and offset hold a
//!   logical byte.
//! - [`pages`]: [`PageSet`], a bitmap of wanted pages, merged into runs.
//! - `wanted`: [`WantedBlocks`], what is read next, and the requests that are made of it;
//!   `bitmap_io`: [`BitmapIo`], the same with the lists that want it; `prefix_cache`:
//!   [`PrefixCache`], one end of a file in memory; `priority_buffer`: [`PriorityBuffer`], the
//!   parts of one that are worth most; `page_cache`: [`PageCache`], the blocks that were used
//!   last; `second_chance`: [`SecondChance`], which of them go.
//! - [`checksum`]: CRC-32C of pages, written at build, verified at read.
//! - [`device`]: [`DeviceProfile`], what a device measured.
//! - [`writer`]: [`SectionWriter`], sequential checksummed writing with direct I/O.
//! - [`spill`]: [`Spill`], partitions of bytes in one scratch file, for sorting what does not fit
//!   into memory; `record_log`: [`RecordLog`], records that wait there for the numbers that they
//!   are sent to; `inbox`: [`Inbox`], the same where all numbers are in memory; `carries`:
//!   [`Carries`], what both are for those that send.
//! - `cut_slice`: [`CutSlice`], a slice whose parts go to different workers.
//! - `parts`: [`Resident`] and [`ScratchFile`], arrays cut into parts, in memory and in a file.
//! - [`memory`]: what the process uses and what the machine allows; `stopwatch`:
//!   [`Stopwatch`], a thread's processor time.
//! - [`named`]: switches: enums each value of which has a name and a line of documentation.
//! - [`settings`]: structs of switches, of which the faces make options.
//! - [`size`]: sizes as text, `512M` or `25%`.
//! - [`resources`]: [`Resources`], what a process may use.
//! - `tally`: [`Tally`], the most frequent of some numbers; `best`: [`Best`], the largest of many;
//!   `norm`: [`Norm`], the root of a sum of squares.
//! - [`threads`]: starting them, where the system may refuse; `workers`: [`Workers`], those that
//!   share the steps of a run; `work_stealing`: [`WorkShares`], who does which part of a step.
//! - `compact`: [`CompactCounters`], [`Remaining`] and [`CompactNumbers`], in as few bytes as most
//!   of them take; `packing`: [`packing()`], all in as many as the largest takes.
//! - `lookup`: [`Lookup`], items that are looked up by their place; `pairs`: [`Pairs`], those of a
//!   round and of the next one, and [`Fronted`], such pairs with some of the items behind them.
//! - `lane_levels`: [`LaneLevels`], the levels of numbers in a few lanes, and which are due soon.
//! - `lane_values`: [`LaneValues`], a value for each number and lane.
//! - `trees`: [`Trees`], sets of numbers that pairs of them join, and [`Joined`], what those have.
//! - `exact_sum`: [`ExactSum`], the same in whatever order it is made; `monoid`: [`Monoid`],
//!   numbers that merge in any grouping.
//! - `monitor`: [`Monitor`], what threads share and wait for; `ordered_marks`: [`OrderedMarks`],
//!   which parts of a work are done; `atomic_item`: [`AtomicItem`], numbers that threads change.
//! - [`error`]: what can go wrong, as [`StorageError`].

pub mod arena;
mod atomic_item;
pub mod backend;
mod best;
pub mod bitmap;
mod bitmap_io;
mod carries;
pub mod checksum;
mod compact;
mod cut_slice;
pub mod device;
pub mod disk;
pub mod error;
mod exact_sum;
pub mod fault;
mod fence;
pub mod hidden;
mod inbox;
mod lane_levels;
mod lane_values;
mod lookup;
mod mapping;
pub mod memory;
mod monitor;
mod monoid;
pub mod named;
mod norm;
mod ordered_marks;
mod packing;
mod page_cache;
pub mod pages;
mod pairs;
mod parts;
mod prefix_cache;
mod priority_buffer;
mod promote;
pub mod reader;
mod record_log;
pub mod resources;
mod second_chance;
pub mod settings;
pub mod size;
pub mod spill;
mod stopwatch;
pub mod stripe;
mod tally;
pub mod threads;
mod trees;
mod wanted;
mod work_stealing;
mod workers;
pub mod writer;

pub use arena::{Arena, Buffer, HugePages, HugeVec, Pod, bytes_of, items_of};
pub use atomic_item::AtomicItem;
pub use backend::{
    Completion, IoBackend, Queue, QueueOptions, ReadRequest, open_queue, open_queues, probe_uring,
};
pub use best::Best;
pub use bitmap::{Bitmap, bits_of, bits_within};
pub use bitmap_io::BitmapIo;
pub use carries::Carries;
pub use checksum::{PageSums, page_sum};
pub use compact::{CompactCounters, CompactNumbers, Remaining, Widths};
pub use cut_slice::CutSlice;
pub use device::{DeviceProfile, Limits};
pub use disk::{Change, DirLock, Disk, DiskFile, Entry, FileKind, IoCounters, Observer};
pub use error::{Result, Shown, StorageError};
pub use exact_sum::ExactSum;
pub use fault::{Fault, FaultPlan};
pub use inbox::Inbox;
pub use lane_levels::LaneLevels;
pub use lane_values::LaneValues;
pub use lookup::{EverySecond, InARow, Lookup};
pub use monitor::{Monitor, atomic, ending, lock, locked, unlocked};
pub use monoid::{Idempotent, LaneSet, Lanes, Min, Mins, Monoid, Or, Sum, Sums};
pub use named::{Choice, Named};
pub use norm::Norm;
pub use ordered_marks::OrderedMarks;
pub use packing::packing;
pub use page_cache::{PageCache, PageCacheUse, Units};
pub use pages::{MergePolicy, PageRun, PageSet};
pub use pairs::{Fronted, Pairs};
pub use parts::{Block, Resident, ScratchFile, Source, cut_windows, widest, windows};
pub use prefix_cache::PrefixCache;
pub use priority_buffer::PriorityBuffer;
pub use promote::promote;
pub use reader::Reader;
pub use record_log::{Leads, LogShape, Record, RecordLog, STEP, Sender, Sent};
pub use resources::Resources;
pub use second_chance::SecondChance;
pub use settings::Settings;
pub use size::{Bytes, Size, human_bytes};
pub use spill::{Extent, Spill, SpillReader};
pub use stopwatch::Stopwatch;
pub use stripe::{StripeLayout, StripedFile};
pub use tally::Tally;
pub use trees::{Joined, Trees};
pub use wanted::{BlockSize, IoScheduling, WantedBlocks};
pub use work_stealing::WorkShares;
pub use workers::{PerWorker, Workers, totals};
pub use writer::{SectionSummary, SectionWriter};

/// The unit of direct access and of checksums, in bytes.
pub const PAGE: usize = 4096;
