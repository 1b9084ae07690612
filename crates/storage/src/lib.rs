//! Bytes on devices: the lowest layer of Outercore. It knows files, pages, buffers and requests,
//! and nothing of graphs.
//!
//! - [`arena`]: [`Arena`], one huge-page mapping, and [`Buffer`], an exclusive slice of one.
//! - [`disk`]: [`Disk`] and [`DiskFile`], every synchronous file operation, counted, and failing on
//!   purpose when asked.
//! - [`hidden`]: names of what is being written, which no crash makes a burden.
//! - [`fault`]: [`FaultPlan`], which operation fails, how, and how often.
//! - [`backend`]: [`Queue`], asynchronous direct reads: `uring`, `blocking`, `memory`, each of
//!   which may be wrapped by faults.
//! - [`stripe`]: [`StripedFile`], the only place that knows which directory and offset hold a
//!   logical byte.
//! - [`pages`]: [`PageSet`], a bitmap of wanted pages, merged into runs.
//! - [`checksum`]: CRC-32C of pages, written at build, verified at read.
//! - [`device`]: [`DeviceProfile`], what a device measured.
//! - [`writer`]: [`SectionWriter`], sequential checksummed writing with direct I/O.
//! - [`spill`]: [`Spill`], partitions of bytes in one scratch file, for sorting what does not fit
//!   into memory.
//! - [`memory`]: what the process uses and what the machine allows.
//! - [`named`]: switches, enums each value of which has a name and a line of documentation;
//!   [`settings`]: structs of them, of which the faces make options; [`size`]: `512M`, `25%`;
//!   [`resources`]: [`Resources`], what a process may use.
//! - `on_panic`: [`OnPanic`], a guard that ends the waiting of others.
//! - [`error`]: what can go wrong, as [`StorageError`].

pub mod arena;
pub mod backend;
pub mod checksum;
pub mod device;
pub mod disk;
pub mod error;
pub mod fault;
pub mod hidden;
pub mod memory;
pub mod named;
mod on_panic;
pub mod pages;
pub mod resources;
pub mod settings;
pub mod size;
pub mod spill;
pub mod stripe;
pub mod writer;

pub use arena::{Arena, Buffer, HugePages, HugeVec, Pod, bytes_of, items_of};
pub use backend::{
    Completion, IoBackend, Queue, QueueOptions, ReadRequest, open_queue, probe_uring,
};
pub use checksum::{PageSums, page_sum};
pub use device::DeviceProfile;
pub use disk::{DirLock, Disk, DiskFile, Entry, FileKind, IoCounters};
pub use error::{Result, StorageError};
pub use fault::{Fault, FaultPlan};
pub use named::{Choice, Named};
pub use on_panic::OnPanic;
pub use pages::{MergePolicy, PageRun, PageSet};
pub use resources::Resources;
pub use settings::Settings;
pub use size::{Bytes, Size};
pub use spill::{Extent, Spill, SpillReader};
pub use stripe::{StripeLayout, StripedFile};
pub use writer::{SectionSummary, SectionWriter};

/// The unit of direct access and of checksums, in bytes.
pub const PAGE: usize = 4096;
