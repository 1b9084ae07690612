//! [`OnPanic`]: nobody waits for a thread that panicked.

/// Does something if it is dropped by a panic: ends the waiting of the other threads, whose turn
/// would not come.
pub struct OnPanic<F: Fn()>(pub F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}
