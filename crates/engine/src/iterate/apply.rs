//! What happens to the vertices of an interval: first values, messages that reach them, signals
//! that they make.

use super::{IntervalState, Run, Step, Workspace};
use crate::{
    Monoid,
    edges::table::Parted,
    program::{Activity, Start, VertexProgram, Wake},
};
use outercore_graph::Result;

/// Up to 64 vertices of an interval.
struct Vertices<'v, P: VertexProgram> {
    first: u64,
    messages: &'v [P::Message],
    degrees: &'v [u32],
    values: &'v mut [P::Value],
    signals: &'v mut [P::Signal],
}

impl<P: VertexProgram> Run<'_, P> {
    /// First values, unless there is a `wake` for those that another program has left; first
    /// signals.
    pub(crate) fn begin(&mut self, wake: Option<Wake<P>>, degrees: &str) -> Result<()> {
        let (program, start) = (&*self.program, self.program.start());
        let section = self.degrees.as_ref().map(|_| self.session.section(degrees));
        let section = section.map(|section| Parted::new(self.session, section));
        self.each_in_place(|step, workspace| {
            let (first, len) = (workspace.first, workspace.len);
            if let (Some(section), Some(degrees)) = (&section, &self.degrees) {
                let into = workspace.degrees.items(len);
                section.load(workspace.worker, first, into)?;
                degrees.store(workspace.interval, &mut workspace.degrees)?;
            } else {
                self.load_degrees(workspace)?;
            }
            if wake.is_none() {
                let values = workspace.values.items(len).iter_mut();
                for ((value, degree), vertex) in
                    values.zip(workspace.degrees.items(len)).zip(first..)
                {
                    *value = program.init(vertex, *degree);
                }
            }
            let access = (wake.is_some(), !self.discards(0), true);
            self.change(step, access, workspace, |vertices, state| {
                if self.all_at_once() {
                    return self.send_all(vertices, state);
                }
                self.apply_some(vertices, state, |vertex, value, _, _| match (wake, &start) {
                    (Some(wake), _) => wake(program, vertex, value),
                    (None, Start::All) => true,
                    (None, Start::Vertices(vertices)) => vertices.contains(&vertex),
                })
            })
        })?;
        self.turn();
        Ok(())
    }

    /// Vertices that have the key of a new phase apply, without a message.
    pub(crate) fn begin_phase(&mut self) -> Result<()> {
        let (program, context) = (&*self.program, &self.context);
        self.each_in_place(|step, workspace| {
            if self.state(workspace.interval).key > context.phase {
                return Ok(self.leave(workspace));
            }
            self.load_degrees(workspace)?;
            self.change(step, (true, true, true), workspace, |vertices, state| {
                self.apply_some(vertices, state, |vertex, value, _, _| {
                    program.phase_key(value) == context.phase
                        && program.apply(context, vertex, value, P::Message::IDENTITY)
                })
            })
        })?;
        self.turn();
        Ok(())
    }

    /// The messages of an interval reach its vertices, which make their next signals. `touched`:
    /// there may be messages. Returns whether all of the vertices will send.
    pub(crate) fn apply(
        &self,
        step: &Step<P>,
        touched: bool,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        let none = |total: &[P::Message]| total.iter().all(|item| *item == P::Message::IDENTITY);
        if P::ACTIVITY == Activity::Frontier && (!touched || none(workspace.total())) {
            return Ok(self.leave(workspace));
        }
        self.load_degrees(workspace)?;
        if self.precompute.is_some() {
            // Those of vertices that are known to send already.
            let known = self.state(workspace.interval).tail;
            match (step.places.get(workspace.interval), &self.tail) {
                (Some(place), _) => workspace.signals.items(workspace.len).copy_from_slice(&place),
                (None, Some(tail)) if known => {
                    tail.load(workspace.interval, &mut workspace.signals)?;
                }
                (None, _) if self.windows.len() == 1 => {
                    let others = step.signals.others(workspace.first);
                    let signals = workspace.signals.items(workspace.len);
                    signals.copy_from_slice(&others[..signals.len()]);
                }
                _ => {}
            }
        }
        let (program, context) = (&*self.program, self.context);
        let discards = self.discards(context.iteration);
        let access = (!discards, !self.discards(context.iteration + 1), self.goes_on());
        self.change(step, access, workspace, |vertices, state| {
            if self.all_at_once() {
                return self.apply_all(vertices, state);
            }
            self.apply_some(vertices, state, |vertex, value, message, residual| {
                if P::ACTIVITY == Activity::Frontier && message == P::Message::IDENTITY {
                    return false;
                }
                let old = *value;
                let active = program.apply(&context, vertex, value, message);
                *residual += if discards { 0.0 } else { program.residual(&old, value) };
                active
            })
        })
    }

    /// Whether values are not looked at after so many iterations: neither by the next one nor as a
    /// result.
    pub(super) fn discards(&self, iterations: u64) -> bool {
        iterations < self.discards_before
    }

    /// An interval without messages: only vertices that are known to send already do so. Returns
    /// whether these are all.
    fn leave(&self, workspace: &Workspace<P>) -> bool {
        let range = workspace.vertices();
        let active = if self.precompute.is_some() {
            self.next_sending.replace(range, |vertex| self.next_sending.contains(vertex))
        } else {
            self.next_sending.replace_words(range, |_| 0)
        };
        // Their degrees are not at hand: as many edges as others have.
        let graph = self.session.graph;
        let edges = active * (graph.manifest().arcs / graph.connected().max(1));
        let mut state = self.state(workspace.interval);
        // Signals that are known already stay where they are.
        let tail = state.tail && active > 0;
        *state = IntervalState { residual: 0.0, active, edges, tail, ..*state };
        active == workspace.len as u64
    }

    /// `change` makes new values and signals of an interval, up to 64 vertices at a time, and
    /// returns a bit for each that sends. Values are loaded before and stored after it, as `access`
    /// says; if they are not loaded, they are those of the workspace. Its third part says whether
    /// signals are kept. Returns whether all vertices send.
    fn change(
        &self,
        step: &Step<P>,
        (loads, stores, keeps): (bool, bool, bool),
        workspace: &mut Workspace<P>,
        mut change: impl FnMut(Vertices<P>, IntervalState) -> (u64, IntervalState),
    ) -> Result<bool> {
        let (interval, range, len) = (workspace.interval, workspace.vertices(), workspace.len);
        let mut made = IntervalState { key: u64::MAX, ..IntervalState::default() };
        let Workspace { total, base, values: block, degrees, signals, .. } = &mut *workspace;
        let (messages, degrees) = (&total[*base..][..len], &*degrees.items(len));
        let signals = signals.items(len);
        let mut reach = |values: &mut [P::Value]| {
            self.next_sending.replace_words(range.clone(), |part| {
                let at = (part.start - range.start) as usize..(part.end - range.start) as usize;
                let vertices = Vertices {
                    first: part.start,
                    messages: &messages[at.clone()],
                    degrees: &degrees[at.clone()],
                    values: &mut values[at.clone()],
                    signals: &mut signals[at],
                };
                let bits;
                (bits, made) = change(vertices, made);
                bits
            })
        };
        let sent = if loads && stores {
            self.values.update(interval, block, reach)?
        } else {
            let sent = reach(block.items(len));
            if stores {
                // Memory that is read before it is first written is mapped twice, and every other
                // processor interrupted for it.
                self.values.store(interval, block)?;
            }
            sent
        };
        made.tail = keeps && sent > 0 && self.keep(step, workspace)?;
        let mut state = self.state(interval);
        *state = IntervalState { summed: state.summed, ..made };
        Ok(sent == len as u64)
    }

    /// Signals that an interval has made, for the next iteration, go where they belong; returns
    /// whether that is scratch.
    fn keep(&self, step: &Step<P>, workspace: &mut Workspace<P>) -> Result<bool> {
        let signals = workspace.signals.items(workspace.len);
        if let Some(mut place) = step.places.get(workspace.interval) {
            place.copy_from_slice(signals);
        } else if workspace.first < self.hubs.size() {
            // SAFETY: this worker has the interval, and marks it as settled only later.
            unsafe { self.hubs.publish(workspace.first, signals) };
        } else if let Some(tail) = &self.tail {
            tail.store(workspace.interval, &mut workspace.signals)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn load_degrees(&self, workspace: &mut Workspace<P>) -> Result<()> {
        if let Some(degrees) = &self.degrees {
            return degrees.load(workspace.interval, &mut workspace.degrees);
        }
        let degrees = self.edges.degrees().expect("the lists have them");
        let (first, len) = (workspace.first as usize, workspace.len);
        workspace.degrees.items(len).copy_from_slice(&degrees[first..][..len]);
        Ok(())
    }

    /// Whether vertices apply and send all at once. In memory they do so one after the other, for
    /// the order of their sums.
    fn all_at_once(&self) -> bool {
        P::ACTIVITY == Activity::AllSend
            && self.precompute.is_none()
            && self.edges.resident().is_none()
    }

    /// Up to 64 vertices, of which `applies` says whether they are active: it gets a vertex, its
    /// value, its message, and the residual. Returns a bit for each that sends, and what is known
    /// of the interval after them.
    // A function of its own, by value: additions in memory would wait for each other.
    #[inline(never)]
    fn apply_some(
        &self,
        vertices: Vertices<P>,
        mut state: IntervalState,
        mut applies: impl FnMut(u64, &mut P::Value, P::Message, &mut f64) -> bool,
    ) -> (u64, IntervalState) {
        let Vertices { first, messages, degrees, values, signals } = vertices;
        let (program, keeps, mut bits) = (&*self.program, self.precompute.is_some(), 0);
        let mut residual = state.residual;
        let vertices = messages.iter().zip(degrees).zip(values.iter_mut().zip(signals));
        for (bit, ((message, degree), (value, signal))) in vertices.enumerate() {
            let vertex = first + bit as u64;
            let active = applies(vertex, value, *message, &mut residual);
            state.aggregate += program.aggregate(value, *degree);
            state.key = state.key.min(program.phase_key(value));
            let sends = match if active { program.scatter(vertex, value, *degree) } else { None } {
                Some(made) => {
                    *signal = made;
                    true
                }
                None => keeps && self.next_sending.contains(vertex),
            };
            state.active += u64::from(active || sends);
            state.edges += if active || sends { u64::from(*degree) } else { 0 };
            bits |= u64::from(sends) << bit;
        }
        (bits, IntervalState { residual, ..state })
    }

    /// The same where all are active and send: a loop for each step, so that the compiler takes
    /// several vertices at a time.
    #[inline(never)]
    fn apply_all(&self, vertices: Vertices<P>, mut state: IntervalState) -> (u64, IntervalState) {
        // By value: what is stored to the values cannot change it.
        let (program, context) = (&*self.program, self.context);
        let reached = vertices.values.iter_mut().zip(vertices.messages).zip(vertices.first..);
        if self.discards(context.iteration) {
            for ((value, message), vertex) in reached {
                program.apply(&context, vertex, value, *message);
            }
        } else {
            for ((value, message), vertex) in reached {
                let old = *value;
                program.apply(&context, vertex, value, *message);
                state.residual += program.residual(&old, value);
            }
        }
        self.send_all(vertices, state)
    }

    /// All of them send.
    #[inline(always)]
    fn send_all(&self, vertices: Vertices<P>, mut state: IntervalState) -> (u64, IntervalState) {
        let program = &*self.program;
        let Vertices { first, degrees, values, signals, .. } = vertices;
        let values = &*values;
        for ((value, signal), (vertex, degree)) in
            values.iter().zip(signals).zip((first..).zip(degrees))
        {
            *signal = program.scatter(vertex, value, *degree).expect("all send");
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
        state.aggregate += sums.into_iter().chain(last).sum::<f64>();
        state.key = values.iter().map(|value| program.phase_key(value)).fold(state.key, u64::min);
        state.active += values.len() as u64;
        state.edges += degrees.iter().map(|&degree| u64::from(degree)).sum::<u64>();
        (u64::MAX >> (64 - values.len()), state)
    }
}
