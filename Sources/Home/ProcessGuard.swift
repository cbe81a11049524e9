import Membership
import Platform
import Sodium
import Synchronization
import Wire

/// Protects the memory of a process that handles keys, and the files that it creates.
package enum ProcessGuard {
  private static let mask = Mutex<mode_t>(0o022)

  /// Disables core files, memory dumps in crash reports, and access by other processes of the user to this one's
  /// memory; restricts new files to the user unless they are meant for others.
  package static func raise() {
    LimitedResource.coreFile.setLimits(current: 0, highest: 0)
    hideMemory()
    silenceCrashes()
    let before = umask(0o077)
    mask.withLock { $0 = before }
  }

  /// Overwrites tickets in the arguments of this process, which every user of the machine can read. Another process may
  /// have read them before.
  package static func hideTickets() {
    for index in 0..<Int(CommandLine.argc) {
      guard let argument = CommandLine.unsafeArgv[index],
        strncasecmp(argument, Ticket.mark, Ticket.mark.utf8.count) == 0
      else { continue }
      memset(argument, Int32(UInt8(ascii: "x")), strlen(argument))
    }
  }

  /// Opens placeholders for standard input, output and error if the process was started without them. Otherwise the
  /// next opened file would become one of them, and output for the user would be written to it. Reading from the
  /// placeholder for standard input fails, and so does writing to the other two.
  package static func holdStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // `open` returns the lowest free descriptor, which is this one.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Disables the crash reports of the Swift runtime unless `SWIFT_BACKTRACE` is set: they contain registers and the
  /// memory that they point to, so a key could end up in a log.
  private static func silenceCrashes() {
    guard getenv("SWIFT_BACKTRACE").map({ $0.pointee == 0 }) ?? true else { return }
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGQUIT] { signal(number, SIG_DFL) }
  }

  /// The umask that the process was started with, for files that are meant for others too.
  static var userMask: mode_t { mask.withLock { $0 } }
}
