//! The same demands on every way to read: right bytes, planned faults, ends of files, queues
//! dropped while reading.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use harness::*;
use outercore_storage::{
    Disk, Fault, FaultPlan, IoBackend, QueueOptions, StorageError, open_queue, probe_uring,
};

#[path = "queues/harness.rs"]
mod harness;

#[test]
fn random_requests_bring_the_right_bytes() {
    let fixture = Fixture::new();
    for kind in kinds() {
        for depth in [1, 8, 64] {
            // More requests than the depth, so that some are held back.
            let slots = depth * 3 / 2 + 1;
            let (arena, disk) = (arena(slots), Disk::new());
            let mut queue = fixture.queue(kind, &disk, &arena, depth);
            assert_eq!(queue.depth(), depth);
            let mut random = Random(depth as u64 + 1);
            let (mut free, mut asked): (Vec<usize>, Vec<Wanted>) = ((0..slots).collect(), vec![]);
            let (mut slot_of, mut seen, mut done) = (vec![], HashSet::new(), vec![]);
            while seen.len() < 400 {
                while asked.len() < 400
                    && let Some(slot) = free.pop()
                {
                    let wanted = Wanted::random(&mut random);
                    submit(&mut *queue, &arena, slot, wanted, asked.len());
                    asked.push(wanted);
                    slot_of.push(slot);
                }
                let at_least = random.below(4);
                queue.wait(at_least, &mut done).unwrap();
                assert!(done.len() >= at_least.min(asked.len() - seen.len()));
                for completion in done.drain(..) {
                    check(&fixture, asked[completion.tag as usize], &completion);
                    assert!(seen.insert(completion.tag), "{kind:?}: a second completion");
                    free.push(slot_of[completion.tag as usize]);
                }
                assert_eq!(queue.in_flight(), asked.len() - seen.len());
            }
            let bytes: usize = asked.iter().map(|wanted| wanted.len).sum();
            assert_eq!(disk.counters().bytes_read.load(Relaxed), bytes as u64, "{kind:?}");
            assert_eq!(disk.counters().read_requests.load(Relaxed), 400, "{kind:?}");
        }
    }
}

#[test]
fn each_request_is_one_operation() {
    let fixture = Fixture::new();
    for kind in kinds() {
        let plan = Arc::new(FaultPlan::count_only());
        let (arena, disk) = (arena(12), Disk::with_faults(Arc::clone(&plan)));
        let mut queue = fixture.queue(kind, &disk, &arena, 4);
        read_all(&mut *queue, &arena, &some_requests(12));
        assert_eq!(plan.operations(), 12, "{kind:?}");
    }
}

#[test]
fn an_error_at_any_operation_is_that_requests_error() {
    let fixture = Fixture::new();
    let wanted = some_requests(12);
    let arena = arena(12);
    for kind in kinds() {
        for n in 0..12 {
            let disk = Disk::with_faults(Arc::new(FaultPlan::nth(n, Fault::Error(libc::EIO))));
            let mut queue = fixture.queue(kind, &disk, &arena, 4);
            for completion in read_all(&mut *queue, &arena, &wanted) {
                let wanted = wanted[completion.tag as usize];
                if completion.tag != n {
                    check(&fixture, wanted, &completion);
                    continue;
                }
                match completion.result {
                    Err(StorageError::Io { operation, path, offset, source }) => {
                        assert_eq!((operation, offset), ("read", wanted.offset as u64));
                        assert_eq!(path, fixture.path(kind, wanted.file));
                        assert_eq!(source.raw_os_error(), Some(libc::EIO));
                    }
                    other => panic!("{kind:?}: {other:?}"),
                }
            }
        }
        let disk = Disk::with_faults(Arc::new(FaultPlan::from(3, Fault::Error(libc::ENXIO))));
        let mut queue = fixture.queue(kind, &disk, &arena, 4);
        let failed = read_all(&mut *queue, &arena, &wanted)
            .iter()
            .filter(|done| done.result.is_err())
            .count();
        assert_eq!(failed, 9, "{kind:?}");
    }
}

#[test]
fn passing_faults_at_any_operation_do_no_harm() {
    let fixture = Fixture::new();
    let wanted = some_requests(12);
    let arena = arena(12);
    let faults = [
        Fault::Short,
        Fault::Interrupted,
        Fault::Stall(Duration::from_millis(2)),
        Fault::Error(libc::EAGAIN),
        Fault::Error(libc::EBUSY),
    ];
    for kind in kinds() {
        for fault in faults {
            let plans =
                (0..12).map(|n| FaultPlan::nth(n, fault)).chain([FaultPlan::from(0, fault)]);
            for plan in plans {
                let disk = Disk::with_faults(Arc::new(plan));
                let mut queue = fixture.queue(kind, &disk, &arena, 4);
                for completion in read_all(&mut *queue, &arena, &wanted) {
                    check(&fixture, wanted[completion.tag as usize], &completion);
                }
            }
        }
    }
}

#[test]
fn short_reads_are_continued_from_a_page() {
    let fixture = Fixture::new();
    let arena = arena(4);
    let wanted: Vec<Wanted> = [512, 4096, 3 * 4096, SLOT]
        .into_iter()
        .map(|len| Wanted { file: 0, offset: 8192, len })
        .collect();
    for kind in kinds() {
        let disk = Disk::with_faults(Arc::new(FaultPlan::from(0, Fault::Short)));
        let mut queue = fixture.queue(kind, &disk, &arena, 4);
        for completion in read_all(&mut *queue, &arena, &wanted) {
            check(&fixture, wanted[completion.tag as usize], &completion);
        }
        // 512 bytes cannot be halved; the other three take a second read each.
        assert_eq!(disk.counters().read_requests.load(Relaxed), 7, "{kind:?}");
    }
}

#[test]
fn reads_past_the_end_are_truncated() {
    let fixture = Fixture::new();
    let arena = arena(6);
    let end = LENGTHS[2];
    let last_page = end / 4096 * 4096;
    let wanted = [
        Wanted { file: 2, offset: last_page - 4096, len: 4096 },
        Wanted { file: 2, offset: last_page, len: 4096 },
        Wanted { file: 2, offset: last_page - 65536, len: SLOT },
        Wanted { file: 2, offset: last_page + 4096, len: 4096 },
        Wanted { file: 1, offset: 1 << 20, len: SLOT },
        Wanted { file: 1, offset: (1 << 20) - 4096, len: 8192 },
    ];
    for kind in kinds() {
        for fault in [None, Some(Fault::Short)] {
            let disk = fault.map_or(Disk::new(), |fault| {
                Disk::with_faults(Arc::new(FaultPlan::from(0, fault)))
            });
            let mut queue = fixture.queue(kind, &disk, &arena, 8);
            for completion in read_all(&mut *queue, &arena, &wanted) {
                let request = wanted[completion.tag as usize];
                if completion.tag == 0 {
                    check(&fixture, request, &completion);
                    continue;
                }
                match completion.result {
                    Err(StorageError::Truncated { path, offset, wanted }) => {
                        assert_eq!((offset, wanted), (request.offset as u64, request.len as u64));
                        assert_eq!(path, fixture.path(kind, request.file));
                    }
                    other => panic!("{kind:?} {request:?}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn waiting_for_nothing_returns() {
    let fixture = Fixture::new();
    for kind in kinds() {
        let (arena, disk, mut done) = (arena(3), Disk::new(), vec![]);
        let mut queue = fixture.queue(kind, &disk, &arena, 2);
        queue.wait(5, &mut done).unwrap();
        queue.wait(0, &mut done).unwrap();
        assert!(done.is_empty());
        // More than there are: all there are.
        submit(&mut *queue, &arena, 0, Wanted { file: 0, offset: 0, len: SLOT }, 0);
        queue.wait(5, &mut done).unwrap();
        assert_eq!(done.len(), 1);
        // An empty read completes. Polling alone brings it and another to their end.
        submit(&mut *queue, &arena, 1, Wanted { file: 0, offset: 0, len: 0 }, 1);
        submit(&mut *queue, &arena, 2, Wanted { file: 0, offset: 0, len: 4096 }, 2);
        let start = Instant::now();
        while queue.in_flight() > 0 {
            queue.wait(0, &mut done).unwrap();
            std::thread::sleep(Duration::from_micros(100));
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "{kind:?}: polling makes no progress"
            );
        }
        assert!(done.iter().all(|completion| completion.result.is_ok()));
        assert_eq!(done.len(), 3);
    }
}

/// Processor time of this thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` has room for the answer.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(done, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn a_stalled_read_holds_up_nobody_and_is_waited_for_asleep() {
    let fixture = Fixture::new();
    // The longer one: longer than a single wait in the kernel.
    for (kind, stall) in kinds().into_iter().flat_map(|kind| [(kind, 300), (kind, 1100)]) {
        let stall = Duration::from_millis(stall);
        let disk = Disk::with_faults(Arc::new(FaultPlan::nth(0, Fault::Stall(stall))));
        let (arena, mut done) = (arena(3), vec![]);
        let mut queue = fixture.queue(kind, &disk, &arena, 2);
        let start = Instant::now();
        for tag in 0..3 {
            submit(
                &mut *queue,
                &arena,
                tag,
                Wanted { file: 0, offset: tag * SLOT, len: SLOT },
                tag,
            );
        }
        queue.wait(2, &mut done).unwrap();
        assert!(start.elapsed() < stall, "{kind:?}: the other reads had to wait");
        assert!(done.iter().all(|completion| completion.tag != 0));
        let cpu = cpu_time();
        queue.wait(1, &mut done).unwrap();
        assert!(start.elapsed() >= stall, "{kind:?}: no stall");
        assert!(cpu_time() - cpu < Duration::from_millis(30), "{kind:?}: waited busily");
        assert_eq!(done.len(), 3);
    }
}

#[test]
fn nothing_is_written_after_a_queue_was_dropped() {
    let fixture = Fixture::new();
    let arena = arena(64);
    for kind in kinds() {
        for faults in
            [FaultPlan::count_only(), FaultPlan::from(5, Fault::Stall(Duration::from_millis(20)))]
        {
            let disk = Disk::with_faults(Arc::new(faults));
            let mut queue = fixture.queue(kind, &disk, &arena, 16);
            for slot in 0..64 {
                submit(
                    &mut *queue,
                    &arena,
                    slot,
                    Wanted { file: 0, offset: slot * 4096, len: SLOT },
                    slot,
                );
            }
            // Some finished, some in the kernel, some held back.
            queue.wait(3, &mut vec![]).unwrap();
            drop(queue);
            let mut whole = arena.buffer(0, arena.len());
            whole.fill(0x55);
            std::thread::sleep(Duration::from_millis(30));
            assert!(whole.iter().all(|&byte| byte == 0x55), "{kind:?}");
        }
    }
}

#[test]
fn queues_move_between_threads_while_idle() {
    let fixture = Fixture::new();
    let wanted = some_requests(8);
    for kind in kinds() {
        let (arena, disk) = (arena(8), Disk::new());
        let mut queue = fixture.queue(kind, &disk, &arena, 4);
        for _ in 0..3 {
            let (arena, wanted) = (&arena, &wanted);
            let read = move || {
                let done = read_all(&mut *queue, arena, wanted);
                (queue, done)
            };
            let (back, done) = std::thread::scope(|scope| scope.spawn(read).join().unwrap());
            queue = back;
            done.iter().for_each(|completion| {
                check(&fixture, wanted[completion.tag as usize], completion)
            });
        }
    }
}

#[test]
fn a_ring_in_use_refuses_other_threads_and_survives_it() {
    if !probe_uring() {
        return eprintln!("SKIPPED: io_uring is not available");
    }
    let fixture = Fixture::new();
    let (arena, disk) = (arena(2), Disk::new());
    let wanted = Wanted { file: 0, offset: 0, len: SLOT };
    let mut queue = fixture.queue(Kind::Uring, &disk, &arena, 4);
    if !queue.features().contains("deferred") {
        return eprintln!("SKIPPED: this kernel's rings belong to no thread");
    }
    submit(&mut *queue, &arena, 0, wanted, 0);
    let elsewhere = move || {
        let refused = queue.wait(1, &mut vec![]).is_err();
        (queue, refused)
    };
    let (mut queue, refused) = std::thread::spawn(elsewhere).join().unwrap();
    assert!(refused);
    let mut done = vec![];
    queue.wait(1, &mut done).unwrap();
    check(&fixture, wanted, &done[0]);
    // Dropped elsewhere while reading: the buffer is given up rather than handed to someone else.
    submit(&mut *queue, &arena, 1, wanted, 1);
    std::thread::spawn(move || drop(queue)).join().unwrap();
    let taken = std::panic::catch_unwind(|| arena.buffer(SLOT, SLOT));
    assert!(taken.is_err(), "the kernel may still write to this buffer");
}

#[test]
fn what_is_in_use_can_be_asked() {
    if !probe_uring() {
        return eprintln!("SKIPPED: io_uring is not available");
    }
    let fixture = Fixture::new();
    let (arena, disk) = (arena(4), Disk::new());
    let registered = fixture.queue(Kind::Uring, &disk, &arena, 4);
    println!("{}: {}", registered.name(), registered.features());
    assert!(registered.features().contains("registered files"), "{}", registered.features());
    let plain = fixture.queue(Kind::UringPlainBuffers, &disk, &arena, 4);
    assert!(plain.features().contains("0 of 0 buffer regions"), "{}", plain.features());
    assert_eq!((registered.name(), plain.name()), ("uring", "uring"));
}

#[test]
fn arenas_beyond_the_limit_of_locked_memory_are_read_into_all_the_same() {
    if !probe_uring() {
        return eprintln!("SKIPPED: io_uring is not available");
    }
    let (fixture, disk) = (Fixture::new(), Disk::new());
    let arenas = [arena(16), arena(256)];
    let options = QueueOptions { backend: IoBackend::Uring, depth: 8, registered: arenas.to_vec() };
    let mut queue = open_queue(&disk, &fixture.files(false), &options).unwrap();
    println!("{}", queue.features());
    let wanted = some_requests(8);
    for arena in &arenas {
        for completion in read_all(&mut *queue, arena, &wanted) {
            check(&fixture, wanted[completion.tag as usize], &completion);
        }
    }
}

/// From now on this thread's attempts to set up an io_uring fail, as in many containers.
fn forbid_uring_to_this_thread() {
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        line((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0, 0),
        line(
            (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            0,
            1,
            libc::SYS_io_uring_setup as u32,
        ),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the filter is well-formed, is copied by the kernel, and concerns the calling thread
    // only.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
            0
        );
    }
}

#[test]
fn where_io_uring_is_forbidden_threads_read() {
    let fixture = Fixture::new();
    let forbidden = || {
        forbid_uring_to_this_thread();
        let (arena, disk, files) = (arena(8), Disk::new(), fixture.files(false));
        let options =
            |backend| QueueOptions { backend, depth: 4, registered: vec![Arc::clone(&arena)] };
        assert!(open_queue(&disk, &files, &options(IoBackend::Uring)).is_err());
        let mut queue = open_queue(&disk, &files, &options(IoBackend::Auto)).unwrap();
        assert_eq!(queue.name(), "blocking");
        let wanted = some_requests(8);
        for completion in read_all(&mut *queue, &arena, &wanted) {
            check(&fixture, wanted[completion.tag as usize], &completion);
        }
    };
    std::thread::scope(|scope| scope.spawn(forbidden).join().unwrap());
}
