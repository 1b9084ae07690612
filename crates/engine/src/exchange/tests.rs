use std::sync::{Arc, atomic::Ordering::Relaxed};

use outercore_storage::{Disk, IoBackend, Min, RecordLog};

use super::Exchange;
use crate::{session::Counters, techniques::Technique};

const BOUNDS: [u64; 4] = [0, 100, 1000, 5000];

/// Some vertices in no order, with repetitions, and what is sent to them.
fn sent() -> impl Iterator<Item = (u64, Min<u64>)> {
    (0..50_000).map(|i| (i * i * 7919 % BOUNDS[3], Min(50_000 - i)))
}

#[test]
fn what_is_passed_is_counted() {
    for block in [7, 100_000] {
        let (folder, disk, counters) =
            (tempfile::tempdir().unwrap(), Disk::new(), Arc::<Counters>::default());
        let how = (&disk, IoBackend::Auto);
        let log = RecordLog::with_blocks(how, folder.path(), &BOUNDS, block).unwrap();
        let exchange = Exchange { log, counters: counters.clone() };
        let mut senders = [exchange.sender(), exchange.sender()];
        sent().for_each(|(at, value)| exchange.send(&mut senders[at as usize % 2], at, value));
        exchange.collect(senders).unwrap();
        let mut shown = 0;
        (0..3).for_each(|at| exchange.replay(at, |_, _| shown += 1).unwrap());
        let useful = counters.useful_bytes.load(Relaxed);
        let passed: u64 = (0..3).map(|at| exchange.drain(at, |_, _| ()).unwrap()).sum();
        assert_eq!((passed, counters.of(Technique::VertexPassing)[0]), (shown, shown));
        assert!(passed > 0);
        assert_eq!(useful > 0, block < 100_000, "blocks of {block}");
        assert_eq!(counters.useful_bytes.load(Relaxed), 2 * useful);
    }
}
