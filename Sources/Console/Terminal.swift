import Platform
package import Reasons

/// The output of the command line: data goes to standard output, everything else to standard error.
package struct Terminal: Sendable {
  /// The properties of one of the two output streams.
  package struct Stream: Sendable {
    package var descriptor: Int32
    package var isTerminal: Bool
    package var hasColor: Bool
    package var width: Int
    /// Whether output is formatted for a person, although it may go to a program that shows it.
    package var isShown: Bool
  }

  package var output: Stream
  package let error: Stream
  /// Whether a person can answer a question.
  package let canAsk: Bool
  /// Whether the program ends if its data can't be written. False for a node, which keeps running.
  package var endsUnread = true
  /// Whether data that can't be written is dropped. True for progress: losing it must not end the work.
  package var dropsUnwritten = false
  /// Whether the command has already been carried out. If so, a failure to write its output must not suggest that it be
  /// run again.
  package var isDone = false

  /// The width of output that does not go to a terminal.
  static let widthElsewhere = 100
  /// The variable that makes standard output look as on a terminal, with this many columns.
  static let forceVariable = "WAYMARK_FORCE_TTY"

  package init(noColor: Bool, environment: [String: String]) {
    let isPlain =
      noColor || environment["NO_COLOR"].map { !$0.isEmpty } ?? false || environment["TERM"] == "dumb"
    let isForced = !noColor && environment["CLICOLOR_FORCE"].map { !$0.isEmpty && $0 != "0" } ?? false
    func stream(_ descriptor: Int32, widthElsewhere: Int) -> Stream {
      let isTerminal = isatty(descriptor) == 1
      return Stream(
        descriptor: descriptor, isTerminal: isTerminal, hasColor: isForced || isTerminal && !isPlain,
        width: isTerminal ? Self.width(of: descriptor) : widthElsewhere, isShown: isTerminal)
    }
    output = stream(STDOUT_FILENO, widthElsewhere: Self.widthElsewhere)
    // If a program reads standard error, it gets each message on one line.
    error = stream(STDERR_FILENO, widthElsewhere: .max)
    canAsk = isatty(STDIN_FILENO) == 1 && error.isTerminal
    if !output.isTerminal, let columns = environment[Self.forceVariable].flatMap({ Int($0) }), columns >= 20 {
      (output.isShown, output.width) = (true, columns)
    }
  }

  private static func width(of descriptor: Int32) -> Int { size(of: descriptor).columns }

  /// Returns the current size of a terminal.
  package static func size(of descriptor: Int32) -> (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 else { return (80, 24) }
    return (Int(size.ws_col), max(4, Int(size.ws_row)))
  }

  // MARK: Writing

  /// Writes one line of data.
  package func data(_ line: String) { write(line + "\n", to: output.descriptor) }

  /// Writes data unchanged, without adding a line break.
  package func raw(_ text: String) { write(text, to: output.descriptor) }

  /// Writes a line for the person at the terminal.
  package func note(_ line: String) { write(line + "\n", to: error.descriptor) }

  /// Writes a paragraph for the person at the terminal, wrapped between words.
  package func notes(_ text: String) {
    for line in wrapped(text, width: error.width, indent: 0) { note(line) }
  }

  /// Writes text on standard error that later text may overwrite.
  package func transient(_ text: String) { write(text, to: error.descriptor) }

  /// Writes all of the text, so that no line is cut off. Data that can't be written ends the program; messages that
  /// can't be written do not.
  private func write(_ text: String, to descriptor: Int32) {
    TransientLine.clear()
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count == 0 || errno == EAGAIN {
        Self.waitForRoom(descriptor)
      } else if errno != EINTR {
        return unwritten(errno, descriptor)
      }
    }
  }

  /// Another program that shares the terminal or pipe may have made it non-blocking.
  private static func waitForRoom(_ descriptor: Int32) {
    var place = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&place, 1, 1_000)
  }

  /// Handles a failed write. If no process reads the output any more, ends the program quietly; reports other errors.
  private func unwritten(_ code: Int32, _ descriptor: Int32) {
    guard descriptor == output.descriptor, !dropsUnwritten else { return }
    let status = code == EPIPE ? 0 : report(unwritable(code))
    if endsUnread { exit(status) }
  }

  private func unwritable(_ code: Int32) -> WaymarkError {
    let isFull = [ENOSPC, EDQUOT, EFBIG].contains(code)
    if isDone {
      return WaymarkError(
        exitCode: ExitCode.outputLost, code: .outputLost,
        message: "The command has been carried out, but its output can't be written to standard output: "
          + "\(String(cString: strerror(code)).lowercased()).",
        next: "don't run it again; \(waymark: "history") shows what was done")
    }
    return WaymarkError(
      exitCode: ExitCode.failed, code: isFull ? .diskFull : .output,
      message: "Can't write to standard output: \(String(cString: strerror(code)).lowercased()).",
      next: isFull
        ? "free some space, or redirect the output elsewhere"
        : "redirect the output, for example to a file: > FILE")
  }

  // MARK: Failures

  /// Writes what failed and the next step, and returns the exit code.
  package func report(_ failure: WaymarkError) -> Int32 {
    var page = Page(width: error.width, hasColor: error.hasColor)
    page.paragraph("\(page.paint("waymark:", .bad)) \(printable(failure.message))")
    for candidate in failure.candidates.prefix(20) { page.paragraph("  \(printable(candidate))", indent: 2) }
    if failure.candidates.count > 20 { page.line("  … and \(failure.candidates.count - 20) more") }
    page.next(failure.next)
    transient(page.text)
    return failure.exitCode
  }

  // MARK: Asking

  /// Asks a question; anything but yes counts as no.
  package func confirms(_ question: String) -> Bool {
    transient(wrapped(question + " [y/N]", width: error.width - 4, indent: 0).joined(separator: "\n") + " ")
    guard let answer = TransientLine.away(during: { readLine() }) else { return false }
    return ["y", "yes"].contains(answer.trimmed.lowercased())
  }

  /// Asks the user to type a word; anything else counts as no.
  package func confirms(_ question: String, typing word: String) -> Bool {
    let request = "\(question) To confirm, type \(printable(word)):"
    transient(wrapped(request, width: error.width - 4, indent: 0).joined(separator: "\n") + " ")
    guard let answer = TransientLine.away(during: { readLine() }) else { return false }
    return Self.isWord(word, answer)
  }

  /// Whether a typed line is the word that was asked for, as it was shown.
  static func isWord(_ word: String, _ line: String) -> Bool {
    let typed = line.trimmed
    return typed == word || typed == printable(word).trimmed
  }
}
