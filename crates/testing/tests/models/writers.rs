//! Turns: what several threads write comes in order, and nobody waits for a turn that will not
//! come.

use loom::{sync::Arc, thread};
use outercore_graph::GraphError;

use crate::turns::Turns;

/// Workers take these turns, the first of which has two parts.
fn write(turns: &'static [&'static [usize]]) -> Vec<usize> {
    let writer = Arc::new(Turns::new(Vec::new()));
    let worker = |turns: &'static [usize]| {
        let writer = Arc::clone(&writer);
        thread::spawn(move || {
            for &turn in turns {
                let put = |written: &mut Vec<usize>| {
                    written.push(turn);
                    Ok(())
                };
                if turn == 0 {
                    writer.take_part(0, false, put).unwrap();
                }
                writer.take_part(turn, true, put).unwrap();
            }
        })
    };
    let workers: Vec<_> = turns.iter().map(|turns| worker(turns)).collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let Ok(writer) = Arc::try_unwrap(writer) else { panic!("the workers have ended") };
    writer.into_writer()
}

#[test]
fn turns_are_written_in_order() {
    loom::model(|| assert_eq!(write(&[&[0, 3], &[1, 2]]), [0, 0, 1, 2, 3]));
}

#[test]
fn nobody_waits_for_a_turn_that_failed() {
    loom::model(|| {
        let writer = Arc::new(Turns::new(()));
        let waits = {
            let writer = Arc::clone(&writer);
            thread::spawn(move || writer.take_part(1, true, |()| Ok(())).is_err())
        };
        assert!(writer.take_part(0, true, |()| Err(GraphError::Cancelled)).is_err());
        assert!(waits.join().unwrap());
        writer.stop();
    });
}

/// A worker that has a later turn before an earlier one.
#[test]
fn turns_in_a_circle_are_found() {
    crate::is_found("writers::turns_in_a_circle_are_found", "deadlock", || {
        loom::model(|| drop(write(&[&[1, 0], &[2]])));
    });
}
