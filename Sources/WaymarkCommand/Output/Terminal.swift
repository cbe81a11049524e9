import Foundation

/// Where the command line writes: data to standard output, everything else to standard error.
struct Terminal: Sendable {
  /// What is known about one of the two streams.
  struct Stream: Sendable {
    var descriptor: Int32
    var isTerminal: Bool
    var hasColor: Bool
    var width: Int
  }

  let output: Stream
  let error: Stream
  /// Somebody can answer a question.
  let canAsk: Bool

  static let widthMax = 100

  init(noColor: Bool, environment: [String: String]) {
    let isPlain =
      noColor || environment["NO_COLOR"].map { !$0.isEmpty } ?? false || environment["TERM"] == "dumb"
    func stream(_ descriptor: Int32, widthElsewhere: Int) -> Stream {
      let isTerminal = isatty(descriptor) == 1
      return Stream(
        descriptor: descriptor, isTerminal: isTerminal, hasColor: isTerminal && !isPlain,
        width: isTerminal ? Self.width(of: descriptor) : widthElsewhere)
    }
    output = stream(STDOUT_FILENO, widthElsewhere: Self.widthMax)
    // A program that reads a message gets it on one line.
    error = stream(STDERR_FILENO, widthElsewhere: .max)
    canAsk = isatty(STDIN_FILENO) == 1 && error.isTerminal
  }

  private static func width(of descriptor: Int32) -> Int { size(of: descriptor).columns }

  /// What a terminal shows now; no more columns than lines are read well.
  static func size(of descriptor: Int32) -> (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 else { return (80, 24) }
    return (min(Int(size.ws_col), widthMax), max(4, Int(size.ws_row)))
  }

  // MARK: Writing

  /// One line of data.
  func data(_ line: String) { write(line + "\n", to: output.descriptor) }

  /// Data as it is, without a line break of its own.
  func raw(_ text: String) { write(text, to: output.descriptor) }

  /// A line for the person at the terminal.
  func note(_ line: String) { write(line + "\n", to: error.descriptor) }

  /// Text on standard error that the next one may replace.
  func transient(_ text: String) { write(text, to: error.descriptor) }

  /// Writes all at once, so that a line is never half there. Who no longer reads ends the program quietly.
  private func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      if count < 0 && errno == EPIPE { exit(0) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Asks a question that is answered with yes or no; anything but yes is no.
  func confirms(_ question: String) -> Bool {
    transient(wrapped(question + " [y/N]", width: error.width - 4, indent: 0).joined(separator: "\n") + " ")
    guard let answer = readLine() else { return false }
    return ["y", "yes"].contains(answer.trimmingCharacters(in: .whitespaces).lowercased())
  }
}
