//! What happens to one interval at a time: first values, messages that reach vertices, signals that
//! they make.

use std::{
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use outercore_storage::PAGE;

use super::{
    demand::Demand,
    desk::Desk,
    pass::Shared,
    run::{External, Note},
    signals::{HubSignals, Window},
};
use crate::{
    error::Result,
    frontier::Frontier,
    monoid::Monoid,
    program::{Context, Start, VertexProgram},
    session::{OpenSection, Session},
};

/// Where an interval's signals lie in memory.
type Place<'s, T> = Mutex<&'s mut [T]>;

/// Where the signals of intervals lie that are in memory and not hubs'.
struct Places<'s, T> {
    /// The first interval that has a place.
    first: usize,
    places: Vec<Place<'s, T>>,
}

impl<'s, T> Places<'s, T> {
    fn get(&self, interval: usize) -> Option<&Place<'s, T>> {
        self.places.get(interval.checked_sub(self.first)?)
    }
}

impl<P: VertexProgram> External<'_, P> {
    /// What was passed reaches the vertices, interval by interval.
    pub(super) fn receive(
        &self,
        demand: &Demand<P::Message>,
        shared: &Shared<P>,
        signals: &mut [P::Signal],
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<()> {
        let parts = self.parts(signals);
        self.each_interval(desks, |_, interval, desk| {
            let range = self.columns.vertices(interval);
            let total = desk.empty_total((range.end - range.start) as usize);
            let touched = demand.receive(interval, |target, message| {
                total[(target - range.start) as usize].combine(message)
            })?;
            // Nobody reads signals any more in this iteration: the next ones take their places.
            self.apply(shared, interval, touched, desk, parts.get(interval)).map(drop)
        })
    }

    pub(super) fn desks(&self, two: bool) -> Result<Vec<Mutex<Desk<P>>>> {
        let widest = self.columns.directory.widest();
        (0..self.session.workers.count())
            .map(|_| {
                Ok(Mutex::new(Desk::new(
                    widest,
                    two,
                    self.windows.len() > 1,
                    self.session.config.huge_pages,
                )?))
            })
            .collect()
    }

    pub(super) fn each_worker(
        &self,
        desks: &mut [Mutex<Desk<P>>],
        work: impl Fn(usize, &mut Desk<P>) -> Result<()> + Sync,
    ) -> Result<()> {
        let results = self.session.workers.map(|index| {
            work(index, &mut desks[index].lock().expect("each worker has its own desk"))
        });
        self.session.check()?;
        crate::error::all(results).map(drop)
    }

    /// Hands every interval to a worker.
    pub(super) fn each_interval(
        &self,
        desks: &mut [Mutex<Desk<P>>],
        work: impl Fn(usize, usize, &mut Desk<P>) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.each_worker(desks, |index, desk| {
            loop {
                let interval = next.fetch_add(1, Relaxed);
                if interval >= self.columns.intervals() || self.session.stopped() {
                    return Ok(());
                }
                work(index, interval, desk)?;
            }
        })
    }

    pub(super) fn total(&self, part: impl Fn(&Note) -> f64) -> f64 {
        self.notes.iter().map(|note| part(&note.lock().expect("no holder panics"))).sum()
    }

    pub(super) fn phase_key(&self) -> u64 {
        self.notes
            .iter()
            .map(|note| note.lock().expect("no holder panics").key)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// First values, first signals; returns how many are active.
    pub(super) fn begin(
        &self,
        degrees: &OpenSection,
        hubs: &HubSignals<P::Signal>,
        signals: &mut [P::Signal],
        sending: &Frontier,
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<u64> {
        let start = self.program.start();
        let starts = |vertex: u64| match &start {
            Start::All => true,
            Start::Vertices(vertices) => vertices.contains(&vertex),
        };
        let parts = self.parts(signals);
        self.each_interval(desks, |index, interval, desk| {
            let range = self.columns.vertices(interval);
            let len = (range.end - range.start) as usize;
            load_degrees(self.session, index, degrees, range.start, desk.degrees.items(len))?;
            self.degrees.store(interval, &mut desk.degrees)?;
            self.wake(interval, desk, (hubs, parts.get(interval)), sending, true, |vertex, _| {
                starts(vertex)
            })
        })?;
        drop(parts);
        Ok(self.notes.iter().map(|note| note.lock().expect("no holder panics").active).sum())
    }

    /// The signals in memory of the intervals beyond the hubs; none where they are a window's.
    fn parts<'s>(&self, signals: &'s mut [P::Signal]) -> Places<'s, P::Signal> {
        let first = self.columns.hub_intervals();
        self.split(
            signals,
            first..if self.windows.len() == 1 { self.columns.intervals() } else { first },
        )
    }

    /// The signals of these intervals, one by one.
    fn split<'s>(
        &self,
        mut signals: &'s mut [P::Signal],
        intervals: Range<usize>,
    ) -> Places<'s, P::Signal> {
        let (first, mut places) = (intervals.start, Vec::new());
        for interval in intervals {
            let range = self.columns.vertices(interval);
            let (part, after) = signals.split_at_mut((range.end - range.start) as usize);
            signals = after;
            places.push(Mutex::new(part));
        }
        Places { first, places }
    }

    /// The vertices of an interval that `is_active` names make their signals; degrees are at hand,
    /// and values come to be if they are `new`.
    fn wake(
        &self,
        interval: usize,
        desk: &mut Desk<P>,
        target: (&HubSignals<P::Signal>, Option<&Place<P::Signal>>),
        sending: &Frontier,
        new: bool,
        mut is_active: impl FnMut(u64, &mut P::Value) -> bool,
    ) -> Result<()> {
        let range = self.columns.vertices(interval);
        let len = (range.end - range.start) as usize;
        let mut note = Note { key: u64::MAX, ..Note::default() };
        let (degrees, signals) = (desk.degrees.items(len), desk.signals.items(len));
        let mut make = |values: &mut [P::Value]| {
            sending.replace_words(range.clone(), |part| {
                let at = (part.start - range.start) as usize..(part.end - range.start) as usize;
                let (degrees, values, signals) =
                    (&degrees[at.clone()], &mut values[at.clone()], &mut signals[at]);
                if self.program.everyone_sends() {
                    note = self.send_all(part.start, degrees, values, signals, note);
                    return u64::MAX >> (64 - values.len());
                }
                let bits;
                (bits, note) = self.wake_some(
                    part.start,
                    degrees.iter().zip(values.iter_mut().zip(signals)),
                    note,
                    &mut is_active,
                );
                bits
            })
        };
        let begin = |values: &mut [P::Value]| self.program.init_range(range.start, degrees, values);
        let sent = if !new {
            self.values.update(interval, &mut desk.values, make)?
        } else if self.program.forgets(0) {
            begin(desk.values.items(len)).map(|()| make(desk.values.items(len)))?
        } else {
            self.values.write(interval, &mut desk.values, |values| {
                begin(values).map(|()| make(values))
            })??
        };
        note.tail = self.put(interval, sent, desk, target)?;
        *self.notes[interval].lock().expect("no holder panics") = note;
        Ok(())
    }

    /// The same for up to 64 vertices from `first` on: their degrees, values and signals. Returns a
    /// bit for each that sends, and what is known of the interval after them.
    // A function of its own, by value: additions in memory would wait for each other.
    #[inline(never)]
    fn wake_some<'v>(
        &self,
        first: u64,
        vertices: impl Iterator<Item = (&'v u32, (&'v mut P::Value, &'v mut P::Signal))>,
        mut note: Note,
        mut is_active: impl FnMut(u64, &mut P::Value) -> bool,
    ) -> (u64, Note) {
        let mut bits = 0;
        for (bit, (degree, (value, signal))) in vertices.enumerate() {
            let vertex = first + bit as u64;
            let woken = is_active(vertex, value);
            note.aggregate += self.program.aggregate(value, *degree);
            note.key = note.key.min(self.program.phase_key(value));
            note.active += u64::from(woken);
            note.edges += if woken { u64::from(*degree) } else { 0 };
            if let (true, Some(made)) = (woken, self.program.scatter(vertex, value, *degree)) {
                *signal = made;
                bits |= 1 << bit;
            }
        }
        (bits, note)
    }

    /// Signals that an interval has made, for the next iteration, go where they belong; returns
    /// whether that is scratch.
    fn put(
        &self,
        interval: usize,
        sent: u64,
        desk: &mut Desk<P>,
        (hubs, place): (&HubSignals<P::Signal>, Option<&Place<P::Signal>>),
    ) -> Result<bool> {
        let range = self.columns.vertices(interval);
        let len = (range.end - range.start) as usize;
        if sent == 0 {
            return Ok(false);
        }
        if let Some(place) = place {
            place
                .lock()
                .expect("an interval has one worker")
                .copy_from_slice(desk.signals.items(len));
            return Ok(false);
        }
        if range.end <= hubs.len() {
            // SAFETY: this worker has the interval, and marks it as settled only later.
            unsafe { hubs.publish(range.start, desk.signals.items(len)) };
            return Ok(false);
        }
        self.tail.store(interval, &mut desk.signals)?;
        Ok(true)
    }

    /// Begins the next phase, if there is one; returns how many vertices are active in it.
    pub(super) fn next_phase(
        &self,
        context: &mut Context,
        signals: &mut [P::Signal],
        sending: &Frontier,
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<u64> {
        let key = self.phase_key();
        if key == u64::MAX {
            return Ok(0);
        }
        context.phase = key;
        let context = &*context;
        let parts = self.parts(signals);
        self.each_interval(desks, |_, interval, desk| {
            let range = self.columns.vertices(interval);
            {
                let mut note = self.notes[interval].lock().expect("an interval has one worker");
                if note.key > key {
                    (note.active, note.edges) = (0, 0);
                    sending.replace(range, |_| false);
                    return Ok(());
                }
            }
            self.degrees.load(interval, &mut desk.degrees)?;
            self.wake(
                interval,
                desk,
                (&self.nobody, parts.get(interval)),
                sending,
                false,
                |vertex, value| self.program.wake(context, vertex, value),
            )
        })?;
        drop(parts);
        Ok(self.notes.iter().map(|note| note.lock().expect("no holder panics").active).sum())
    }

    /// The messages of an interval reach its vertices, which make their next signals: in `place`,
    /// or where a pass keeps them. Returns whether all of them will send.
    pub fn apply(
        &self,
        shared: &Shared<P>,
        interval: usize,
        touched: bool,
        desk: &mut Desk<P>,
        place: Option<&Place<P::Signal>>,
    ) -> Result<bool> {
        let range = self.columns.vertices(interval);
        let len = (range.end - range.start) as usize;
        let always = self.program.applies_always();
        let mut note = self.notes[interval].lock().expect("an interval has one worker");
        if !always
            && (!touched
                || desk.total()[..len].iter().all(|message| *message == P::Message::IDENTITY))
        {
            let active = shared.next_sending.replace(range.clone(), |vertex| {
                shared.keeps && shared.next_sending.contains(vertex)
            });
            // Their degrees are not at hand: as many edges as others have.
            let edges =
                active * (self.session.graph.manifest().arcs / self.columns.vertices_len().max(1));
            *note = Note { residual: 0.0, active, edges, tail: false, ..*note };
            return Ok(active == len as u64);
        }
        self.degrees.load(interval, &mut desk.degrees)?;
        if shared.keeps {
            // Those of vertices that are known to send already.
            match place {
                Some(place) => desk
                    .signals
                    .items(len)
                    .copy_from_slice(&place.lock().expect("an interval has one worker")),
                None => desk
                    .signals
                    .items(len)
                    .copy_from_slice(&shared.signals.others(range.start)[..len]),
            }
        }
        let mut made = Note { key: u64::MAX, ..Note::default() };
        let (total, values, degrees, signals) = desk.columns(len);
        let mut reach = |values: &mut [P::Value]| {
            shared.next_sending.replace_words(range.clone(), |part| {
                let at = (part.start - range.start) as usize..(part.end - range.start) as usize;
                let (total, degrees) = (&total[at.clone()], &degrees[at.clone()]);
                let (values, signals) = (&mut values[at.clone()], &mut signals[at]);
                if self.program.everyone_sends() && !shared.keeps {
                    made = self.apply_all(
                        shared,
                        part.start,
                        (total, degrees),
                        (values, signals),
                        made,
                    );
                    return u64::MAX >> (64 - total.len());
                }
                let bits;
                (bits, made) = self.apply_some(
                    shared,
                    part.start,
                    total.iter().zip(degrees).zip(values.iter_mut().zip(signals)),
                    made,
                );
                bits
            })
        };
        let done = shared.context.iteration;
        let sent = match (self.program.forgets(done), self.program.forgets(done + 1)) {
            (_, true) => reach(values.items(len)),
            (true, false) => {
                // Memory that is read before it is first written is mapped twice, and every other
                // processor interrupted for it.
                let sent = reach(values.items(len));
                self.values.store(interval, values)?;
                sent
            }
            (false, false) => self.values.update(interval, values, reach)?,
        };
        let tail = self.put(interval, sent, desk, (shared.signals.hubs, place))?;
        *note = Note { tail, summed: note.summed, ..made };
        Ok(sent == len as u64)
    }

    /// The same for up to 64 vertices from `first` on: their messages and degrees, values and
    /// signals. Returns a bit for each that sends, and what is known of the interval after them.
    // A function of its own, by value: additions in memory would wait for each other.
    #[inline(never)]
    #[allow(clippy::type_complexity)]
    fn apply_some<'v>(
        &self,
        shared: &Shared<P>,
        first: u64,
        vertices: impl Iterator<
            Item = ((&'v P::Message, &'v u32), (&'v mut P::Value, &'v mut P::Signal)),
        >,
        mut note: Note,
    ) -> (u64, Note) {
        let (program, mut bits) = (self.program, 0);
        for (bit, ((message, degree), (value, signal))) in vertices.enumerate() {
            let vertex = first + bit as u64;
            let mut active = false;
            if program.applies_always() || *message != P::Message::IDENTITY {
                let old = *value;
                active = program.apply(shared.context, vertex, value, *message);
                note.residual += if program.forgets(shared.context.iteration) {
                    0.0
                } else {
                    program.residual(&old, value)
                };
            }
            note.aggregate += program.aggregate(value, *degree);
            note.key = note.key.min(program.phase_key(value));
            let sends = match if active { program.scatter(vertex, value, *degree) } else { None } {
                Some(made) => {
                    *signal = made;
                    true
                }
                None => shared.keeps && shared.next_sending.contains(vertex),
            };
            note.active += u64::from(active || sends);
            note.edges += if active || sends { u64::from(*degree) } else { 0 };
            bits |= u64::from(sends) << bit;
        }
        (bits, note)
    }

    /// The same where everyone is active and sends: a loop for each step, so that the compiler
    /// takes several vertices at a time.
    #[inline(never)]
    fn apply_all(
        &self,
        shared: &Shared<P>,
        first: u64,
        (messages, degrees): (&[P::Message], &[u32]),
        (values, signals): (&mut [P::Value], &mut [P::Signal]),
        mut note: Note,
    ) -> Note {
        let (program, context) = (self.program, shared.context);
        if program.forgets(context.iteration) {
            for ((value, message), vertex) in values.iter_mut().zip(messages).zip(first..) {
                program.apply(context, vertex, value, *message);
            }
        } else {
            for ((value, message), vertex) in values.iter_mut().zip(messages).zip(first..) {
                let old = *value;
                program.apply(context, vertex, value, *message);
                note.residual += program.residual(&old, value);
            }
        }
        self.send_all(first, degrees, values, signals, note)
    }

    /// Everyone sends.
    #[inline(always)]
    fn send_all(
        &self,
        first: u64,
        degrees: &[u32],
        values: &[P::Value],
        signals: &mut [P::Signal],
        mut note: Note,
    ) -> Note {
        let program = self.program;
        for ((value, signal), (vertex, degree)) in
            values.iter().zip(signals).zip((first..).zip(degrees))
        {
            *signal = program.scatter(vertex, value, *degree).expect("everyone sends");
        }
        // Four sums side by side: one alone waits for each addition.
        let mut sums = [0.0; 4];
        let (fours, rest) = values.as_chunks::<4>();
        for (values, degrees) in fours.iter().zip(degrees.chunks_exact(4)) {
            (0..4).for_each(|at| sums[at] += program.aggregate(&values[at], degrees[at]));
        }
        let last = rest
            .iter()
            .zip(&degrees[4 * fours.len()..])
            .map(|(value, degree)| program.aggregate(value, *degree));
        note.aggregate += sums.into_iter().chain(last).sum::<f64>();
        note.key = values.iter().map(|value| program.phase_key(value)).fold(note.key, u64::min);
        note.active += values.len() as u64;
        note.edges += degrees.iter().map(|&degree| u64::from(degree)).sum::<u64>();
        note
    }

    /// Brings the signals of the vertices beyond the hubs back into memory, where all are.
    pub(super) fn fetch_tail(
        &self,
        signals: &mut [P::Signal],
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<()> {
        let parts = self.parts(signals);
        self.each_interval(desks, |_, interval, desk| {
            parts.get(interval).map_or(Ok(()), |part| self.fetch(interval, desk, part))
        })
    }

    /// Brings the signals of a window into memory, where they are not there at all times.
    pub(super) fn fetch_window(
        &self,
        window: &Window,
        signals: &mut [P::Signal],
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<()> {
        if self.windows.len() == 1 {
            return Ok(());
        }
        let parts = self.split(signals, window.intervals.clone());
        self.each_interval(desks, |_, interval, desk| {
            parts.get(interval).map_or(Ok(()), |part| self.fetch(interval, desk, part))
        })
    }

    /// Brings the signals of an interval back, if it made any.
    fn fetch(&self, interval: usize, desk: &mut Desk<P>, part: &Place<P::Signal>) -> Result<()> {
        if self.notes[interval].lock().expect("no holder panics").tail {
            let range = self.columns.vertices(interval);
            let len = (range.end - range.start) as usize;
            self.tail.load(interval, &mut desk.signals)?;
            part.lock()
                .expect("an interval has one worker")
                .copy_from_slice(desk.signals.items(len));
        }
        Ok(())
    }

    /// The messages that earlier windows of this iteration brought an interval become its total;
    /// `false`: there was none.
    pub(super) fn resume(
        &self,
        shared: &Shared<P>,
        interval: usize,
        desk: &mut Desk<P>,
    ) -> Result<bool> {
        let range = self.columns.vertices(interval);
        let len = (range.end - range.start) as usize;
        let summed = self.notes[interval].lock().expect("no holder panics").summed;
        if summed {
            let partial = shared.partial.expect("windows have a place for sums");
            desk.load_total(partial, interval)?;
        } else {
            desk.empty_total(len);
        }
        Ok(summed)
    }

    /// The total of an interval waits for the next window, or after the last one reaches the
    /// vertices. Returns whether all of these will send.
    pub(super) fn finish(
        &self,
        shared: &Shared<P>,
        interval: usize,
        touched: bool,
        desk: &mut Desk<P>,
    ) -> Result<bool> {
        if shared.window.last {
            self.notes[interval].lock().expect("no holder panics").summed = false;
            let (total, first) = (desk.total_mut(), self.columns.vertices(interval).start);
            let passed = match &self.rows {
                Some(rows) => rows.receive(interval, |target, message| {
                    total[(target - first) as usize].combine(message)
                })?,
                None => false,
            };
            return self.apply(shared, interval, touched || passed, desk, None);
        }
        if touched {
            let partial = shared.partial.expect("windows have a place for sums");
            desk.store_total(partial, interval)?;
            self.notes[interval].lock().expect("no holder panics").summed = true;
        }
        Ok(false)
    }
}

/// Reads degrees of consecutive vertices from a graph's section, verified.
fn load_degrees(
    session: &Session,
    worker: usize,
    section: &OpenSection,
    first: u64,
    into: &mut [u32],
) -> Result<()> {
    let (begin, end) = (first * 4, (first + into.len() as u64) * 4);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(into);
    let mut reader = session.reader(worker);
    let mut at = begin;
    while at < end {
        let page = at / PAGE as u64 * PAGE as u64;
        let len = ((end - page) as usize)
            .next_multiple_of(PAGE)
            .min(session.buffer_bytes() / PAGE * PAGE);
        let upto = end.min(page + len as u64);
        reader.fetch(section, page, len, |content| {
            bytes[(at - begin) as usize..(upto - begin) as usize]
                .copy_from_slice(&content[(at - page) as usize..(upto - page) as usize]);
        })?;
        at = upto;
    }
    Ok(())
}
