//! The queue of a run: actions that wait for a thread of the pool, and actions that a server may run instead.

use super::publisher::lock;
use crate::stale::RebuildReason;
use std::collections::VecDeque;
use std::sync::Mutex;

/// An action that waits to be run.
pub(super) struct Pending {
    /// The memory estimate.
    pub(super) weight: u64,
    pub(super) index: usize,
    pub(super) why: RebuildReason,
    /// True if the cache does not have the result, and a server did not return one.
    pub(super) is_fallback: bool,
}

/// The next action for a thread of the pool.
pub(super) enum Next {
    /// An action to run now.
    Run(Pending),
    /// None at present: the memory is in use, or a server may fail to run one.
    Wait,
    /// None is left.
    Done,
}

#[derive(Default)]
struct State {
    /// Actions for the pool, in order.
    local: VecDeque<Pending>,
    /// Actions for a server, in order. The pool takes them when it has no others.
    remote: VecDeque<Pending>,
    /// The number of actions that a server has not finished yet.
    in_flight: usize,
}

/// The actions that are out of date and have not started.
pub(super) struct Queue(Mutex<State>);

impl Queue {
    pub(super) fn new(pending: impl Iterator<Item = Pending>, is_remote: impl Fn(usize) -> bool) -> Queue {
        let (remote, local) = pending.partition(|pending| is_remote(pending.index));
        Queue(Mutex::new(State { local, remote, in_flight: 0 }))
    }

    /// Returns the number of actions that a server may run.
    pub(super) fn remote_len(&self) -> usize {
        lock(&self.0).remote.len()
    }

    /// Returns the next action for a thread of the pool, if its memory is admitted.
    pub(super) fn next(&self, admit: impl FnOnce(u64) -> bool) -> Next {
        let mut state = lock(&self.0);
        let State { local, remote, in_flight } = &mut *state;
        let queue = if local.is_empty() { remote } else { local };
        match queue.front() {
            Some(first) if admit(first.weight) => queue.pop_front().map_or(Next::Wait, Next::Run),
            Some(_) => Next::Wait,
            None if *in_flight > 0 => Next::Wait,
            None => Next::Done,
        }
    }

    /// Returns the next action for a server, which [`finish_remote`](Self::finish_remote) ends.
    pub(super) fn next_remote(&self) -> Option<Pending> {
        let mut state = lock(&self.0);
        let next = state.remote.pop_front()?;
        state.in_flight += 1;
        Some(next)
    }

    /// Ends an action that was in flight; one without a result is the next for the pool.
    pub(super) fn finish_remote(&self, fallback: Option<Pending>) {
        let mut state = lock(&self.0);
        state.in_flight -= 1;
        state.local.extend(fallback);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(count: usize) -> Queue {
        let pending = |index| Pending { weight: 1, index, why: RebuildReason::New, is_fallback: false };
        Queue::new((0..count).map(pending), |index| index % 2 == 1)
    }

    fn run(queue: &Queue) -> Option<usize> {
        match queue.next(|_| true) {
            Next::Run(pending) => Some(pending.index),
            Next::Wait | Next::Done => None,
        }
    }

    #[test]
    fn pool_takes_its_own_actions_first_and_then_those_for_a_server() {
        let queue = queue(4);
        assert_eq!(queue.next_remote().map(|pending| pending.index), Some(1));
        assert_eq!([run(&queue), run(&queue), run(&queue), run(&queue)], [Some(0), Some(2), Some(3), None]);
        assert!(queue.next_remote().is_none());
    }

    #[test]
    fn pool_waits_for_actions_in_flight() {
        let queue = queue(2);
        let in_flight = queue.next_remote();
        assert_eq!(run(&queue), Some(0));
        assert!(matches!(queue.next(|_| true), Next::Wait));
        queue.finish_remote(in_flight);
        assert!(matches!(queue.next(|_| false), Next::Wait));
        assert_eq!(run(&queue), Some(1));
        assert!(matches!(queue.next(|_| true), Next::Done));
    }
}
