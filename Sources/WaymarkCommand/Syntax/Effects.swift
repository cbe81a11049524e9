import JSONDocument
import Waymark

extension Invocation {
  /// Whether something is different after the command: then a script that could not read the output must not run it
  /// again. Every command counts that is not known to only read.
  var changesSomething: Bool {
    if arguments["preview"]?.boolean == true { return false }
    if ["output", "report", "write"].contains(where: { self[$0] != nil }) { return true }
    return !Self.readingWords.contains(words.last ?? "")
  }

  /// The last words of commands that only read.
  private static let readingWords: Set<String> = [
    "completions", "export", "get", "help", "history", "issue", "list", "manual",
    "paths", "show", "status", "timeline", "version", "wait", "why",
  ]
}
