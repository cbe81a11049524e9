import CSodium

/// Keeps this process's memory to itself: no other process of the user reads it, and no core file holds it.
/// A process that has dropped rights it was started with may not be able to; then nothing happens.
package func hideMemory() { _ = waymark_hide_memory() }
