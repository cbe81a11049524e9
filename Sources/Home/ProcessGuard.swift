import Membership
import Sodium
import Synchronization
import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What a process that handles keys does first: nobody else may look into its memory or its files.
package enum ProcessGuard {
  private static let mask = Mutex<mode_t>(0o022)

  /// No core file, no memory in the story of a crash, no reading of this process's memory by others of the same
  /// user, and no file that others could open, unless it is meant for them.
  package static func raise() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    #if canImport(Glibc)
      setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    #else
      setrlimit(RLIMIT_CORE, &none)
    #endif
    hideMemory()
    silenceCrashes()
    let before = umask(0o077)
    mask.withLock { $0 = before }
  }

  /// Overwrites tickets in the arguments of this process, which every user of the machine can read. What was read of
  /// them before stays.
  package static func hideTickets() {
    for index in 0..<Int(CommandLine.argc) {
      guard let argument = CommandLine.unsafeArgv[index],
        strncasecmp(argument, Ticket.mark, Ticket.mark.utf8.count) == 0
      else { continue }
      memset(argument, Int32(UInt8(ascii: "x")), strlen(argument))
    }
  }

  /// Takes the places of standard input, output and error where the process came without: else the next file that is
  /// opened would be one of them, and have written into it what is meant for a person. Reading from the first fails as
  /// writing to the others does.
  package static func holdStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest number that is free is this one.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// The Swift runtime tells of a crash with registers and the memory that they point to: in a log, that could be a
  /// key. Who looks for a fault asks for it with `SWIFT_BACKTRACE`.
  private static func silenceCrashes() {
    guard getenv("SWIFT_BACKTRACE").map({ $0.pointee == 0 }) ?? true else { return }
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGQUIT] { signal(number, SIG_DFL) }
  }

  /// What the person keeps from others in files that are for others too: the umask that the process came with.
  static var userMask: mode_t { mask.withLock { $0 } }
}
