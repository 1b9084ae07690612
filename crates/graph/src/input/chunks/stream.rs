//! Chunks of a stream: cut by one thread, decoded by the workers. Their buffers come back.

use std::{io, sync::atomic::Ordering::Relaxed};

use crossbeam_channel::{Receiver, Sender};
use outercore_storage::threads;

use super::{Run, remainder, resize};
use crate::input::{
    fields::{MAX_LINE, long_line},
    record::{Cut, RecordChunk, SLACK, Stop},
    source::Stream,
};

/// A chunk on its way to a worker.
struct Portion {
    index: u64,
    buffer: Vec<u8>,
    end: usize,
    offset: u64,
}

/// Reads a stream.
pub(super) fn read(run: &Run<'_>, mut stream: Stream) {
    let workers = run.job.threads.max(1);
    let (send, receive) = crossbeam_channel::bounded::<Portion>(workers);
    let (give_back, take) = crossbeam_channel::bounded::<Vec<u8>>(workers + 2);
    for _ in 0..workers + 2 {
        // Fits: that is the capacity.
        let _ = give_back.send(Vec::new());
    }
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (receive, give_back) = (receive.clone(), give_back.clone());
            if let Err(error) = threads::start(scope, move || work(run, &receive, &give_back)) {
                run.stop(0, Stop::Other(error.into()));
                return;
            }
        }
        drop((receive, give_back));
        feed(run, &mut stream, &send, &take);
        drop(send);
    });
}

fn work(run: &Run<'_>, receive: &Receiver<Portion>, give_back: &Sender<Vec<u8>>) {
    let mut out = run.emitter();
    for portion in receive {
        if run.is_beyond(portion.index) {
            break;
        }
        let chunk =
            RecordChunk { bytes: &portion.buffer, end: portion.end, offset: portion.offset };
        if !run.decode(portion.index, &chunk, None, &mut out) {
            break;
        }
        // After the end of the stream it is not taken any more.
        let _ = give_back.send(portion.buffer);
    }
    run.leave(out);
}

/// Cuts the stream and sends the portions until it ends or no worker takes more.
fn feed(run: &Run<'_>, stream: &mut Stream, send: &Sender<Portion>, take: &Receiver<Vec<u8>>) {
    let mut offset = 0;
    if let Err((read, error)) = skip(stream, run.begin) {
        run.stop(0, Stop::Other(run.source.error(read, error)));
        return;
    }
    let mut rest: Vec<u8> = Vec::new();
    let mut told = 0;
    for index in 0.. {
        let Ok(mut buffer) = take.recv() else { return };
        let (end, ended) = match portion(run, stream, &mut buffer, &mut rest, run.begin + offset) {
            Ok(portion) => portion,
            Err(stop) => {
                run.stop(index, stop);
                return;
            }
        };
        let consumed = stream.consumed.load(Relaxed);
        run.job.progress.advance(consumed - told);
        told = consumed;
        let unwanted = run.is_beyond(index);
        let portion = Portion { index, buffer, end, offset: run.begin + offset };
        if end > 0 && (unwanted || send.send(portion).is_err()) {
            return;
        }
        offset += end as u64;
        if ended {
            return;
        }
    }
}

/// Fills a buffer with whole records; what comes after them stays in `rest`. Returns their end and
/// whether the stream has ended.
fn portion(
    run: &Run<'_>,
    stream: &mut Stream,
    buffer: &mut Vec<u8>,
    rest: &mut Vec<u8>,
    offset: u64,
) -> std::result::Result<(usize, bool), Stop> {
    let mut len = rest.len();
    let mut target = run.chunk.max(len);
    resize(buffer, target + 1 + SLACK);
    buffer[..len].copy_from_slice(rest);
    rest.clear();
    loop {
        let read = stream.fill(&mut buffer[len..target]);
        let read = read.map_err(|(read, error)| {
            Stop::Other(run.source.error(offset + (len + read) as u64, error))
        })?;
        len += read;
        let ended = len < target;
        let end = match run.cut {
            Cut::Records(record) => len / record * record,
            Cut::Lines if ended && len > 0 && buffer[len - 1] != b'\n' => {
                buffer[len] = b'\n';
                len += 1;
                len
            }
            Cut::Lines => memchr::memrchr(b'\n', &buffer[..len]).map_or(0, |at| at + 1),
        };
        if let (Cut::Records(record), true) = (run.cut, ended && end < len) {
            return Err(remainder(offset + len as u64, record).into());
        }
        if ended || end > 0 {
            rest.extend_from_slice(&buffer[end..len]);
            return Ok((end, ended));
        }
        if len > MAX_LINE {
            return Err(long_line().into());
        }
        target += run.chunk;
        resize(buffer, target + 1 + SLACK);
    }
}

fn skip(stream: &mut Stream, bytes: u64) -> std::result::Result<(), (u64, io::Error)> {
    let mut scratch = vec![0; bytes.min(64 << 10) as usize];
    let mut done = 0;
    while done < bytes {
        let step = (bytes - done).min(scratch.len() as u64) as usize;
        let read = stream
            .fill(&mut scratch[..step])
            .map_err(|(read, error)| (done + read as u64, error))?;
        if read == 0 {
            break;
        }
        done += read as u64;
    }
    Ok(())
}
