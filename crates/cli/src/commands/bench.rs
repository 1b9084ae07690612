//! `bench`: what the machine can do.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use outercore::{
    Bytes, Disk, IoBackend, Result,
    device::{self, DevicePoint, DeviceProfile, MeasureOptions, Pattern},
    human_bytes,
};

use crate::{
    output::{self, grouped, note, print_json, printable},
    switches::named,
};

const EXAMPLES: &str = "Examples:
  outercore bench device /mnt/ssd
  outercore bench device . --json";

/// Measure what runs depend on
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The device under a folder: streams and random reads, by request size and depth; takes about
    /// ten seconds and a file of 1 GiB
    Device(Device),
}

#[derive(Args)]
struct Device {
    /// A folder on the device
    dir: PathBuf,
    /// The size of the file that is written, read and deleted
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = file_size)]
    size: u64,
    /// How reads are submitted
    #[arg(long, value_parser = named::<IoBackend>(), default_value = "auto")]
    io: IoBackend,
    /// Print one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

/// Smaller files would measure the device's own cache.
fn file_size(text: &str) -> std::result::Result<u64, String> {
    let Bytes(size) = text.parse()?;
    if size >= 64 << 20 { Ok(size) } else { Err("the file must have at least 64M".to_owned()) }
}

impl Bench {
    pub fn run(&self) -> Result<()> {
        match &self.what {
            What::Device(device) => device.run(),
        }
    }
}

impl Device {
    fn run(&self) -> Result<()> {
        if !self.json {
            note(&format!("measuring {}: about ten seconds", self.dir.display()));
        }
        let options =
            MeasureOptions { bytes: self.size, backend: self.io, ..MeasureOptions::default() };
        let disk = Disk::new();
        let profile = device::measure(&disk, &self.dir, &options)?;
        device::store_profile(&disk, &self.dir, &profile)?;
        if self.json { print_json(&profile) } else { output::print(&printable(&table(&profile))) }
    }
}

fn table(profile: &DeviceProfile) -> String {
    let mut lines = vec![
        format!("{}, measured {}", profile.device, profile.measured),
        format!("  streams      {:.2} GB/s", profile.sequential_bytes_per_second / 1e9),
        format!("  random reads {} of 4 KiB a second", grouped(profile.random_4k_iops as u64)),
        format!(
            "  break-even   {}: what a stream moves in the time of one random read",
            human_bytes(profile.break_even_request_bytes)
        ),
        String::new(),
        format!(
            "  {:<12}{:>10}{:>8}{:>10}{:>12}  huge pages",
            "pattern", "request", "depth", "GB/s", "requests/s"
        ),
    ];
    lines.extend(profile.table.iter().map(row));
    lines.join("\n")
}

fn row(point: &DevicePoint) -> String {
    let pattern = match point.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    let huge = if point.huge_pages { "yes" } else { "no" };
    let (request, speed) = (human_bytes(point.request_bytes), point.bytes_per_second / 1e9);
    format!(
        "  {pattern:<12}{request:>10}{:>8}{speed:>10.2}{:>12}  {huge}",
        point.depth,
        grouped(point.iops as u64)
    )
}
