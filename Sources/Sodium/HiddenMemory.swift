import CSodium

/// Protects this process's memory from other processes of the user and from core files.
///
/// Does nothing if the system refuses, as it may in a process that has dropped privileges.
package func hideMemory() { _ = waymark_hide_memory() }
