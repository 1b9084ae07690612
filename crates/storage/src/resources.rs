//! What a process may use: memory, disk, threads.

use std::path::Path;

use crate::{Disk, Result, memory, settings, settings::Threads, size::Size};

/// Items that are not worth a second thread.
const FEW: u64 = 1 << 18;

settings! {
    /// What a build or a run may use.
    pub struct Resources {
        /// The budget: the process's peak resident memory stays below it (512M, 2G, 25%).
        memory: Option<Size> =
            ("memory", "SIZE", "half of what the machine or its control group has"),
        /// Most bytes that may be written to disk, scratch and result (20G, 50%).
        disk: Option<Size> = ("disk", "SIZE", "what is free, less 10 %"),
        /// Threads.
        threads: Option<Threads> =
            ("threads", "N", "the cores that the process may use; one for little work"),
    }
}

impl Resources {
    /// The memory budget in bytes.
    pub fn memory(&self) -> u64 {
        self.memory.unwrap_or(Size::Percent(50.0)).of(memory::machine_memory())
    }

    /// How many bytes may be written beside `path`, which need not exist yet.
    pub fn disk(&self, disk: &Disk, path: &Path) -> Result<u64> {
        let folder =
            path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
        Ok(self.disk.unwrap_or(Size::Percent(90.0)).of(disk.free_space(folder)?))
    }

    /// The same for work on so many items. To start threads for few takes as long as the work: it
    /// is one thread's, unless others are asked for.
    pub fn for_items(mut self, items: u64) -> Self {
        if items < FEW {
            self.threads.get_or_insert(Threads(1));
        }
        self
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(memory::cores, |threads| threads.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[test]
    fn budgets() {
        let mut asked = Resources::default();
        assert!(asked.memory() > 0 && asked.threads() > 0);
        let absent = std::env::temp_dir().join("no such folder").join("graph");
        assert!(asked.disk(&Disk::new(), &absent).unwrap() > 0);
        for (switch, text) in [("memory", "1K"), ("disk", "7"), ("threads", "3")] {
            assert_eq!(asked.set(switch, text), Some(Ok(())));
        }
        assert_eq!((asked.memory(), asked.threads()), (1024, 3));
        assert_eq!(asked.clone().for_items(0).threads(), 3);
        let usual = Resources::default();
        assert_eq!(usual.clone().for_items(FEW - 1).threads(), 1);
        assert_eq!(usual.clone().for_items(FEW).threads(), usual.threads());
        assert_eq!(asked.disk(&Disk::new(), &absent).unwrap(), 7);
        for text in ["0", "1025", "-1", "many"] {
            assert!(asked.set("threads", text).unwrap().is_err(), "{text}");
        }
    }
}
