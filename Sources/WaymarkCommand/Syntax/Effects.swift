import JSONDocument
import Waymark

extension Invocation {
  /// Whether something is different after the command: then a script that could not read the output must not run it
  /// again. Every command counts that is not known to only read.
  var changesSomething: Bool {
    if arguments["preview"]?.boolean == true { return false }
    return words != ["verify"] || arguments["repair"]?.boolean == true
  }
}
