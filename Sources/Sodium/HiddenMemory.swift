import CSodium

/// Keeps this process's memory from being read by the user's other processes and from being written to core files.
///
/// This has no effect if the operating system refuses, as it may for a process that has dropped privileges.
package func hideMemory() { _ = waymark_hide_memory() }
