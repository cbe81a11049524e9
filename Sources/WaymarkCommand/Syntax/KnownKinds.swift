import Records
import Waymark

extension Schema {
  /// The kinds of records that this run of the program knows: those of the home that it works on.
  @TaskLocal static var known = Schema.builtIn

  /// Returns the kinds that the store of the home knows that a command line names. If there is no such home or its store
  /// can't be read, these are the built-in kinds; the command itself then says what is wrong.
  static func ofHome(_ arguments: [String], _ environment: [String: String]) -> Schema {
    let isCompletion = arguments.first == LiveCompletions.command
    let flag = homeFlag(isCompletion ? Array(arguments.dropFirst(2)) : arguments)
    let apps = (try? Home.resolve(flag: flag, environment: environment))?.apps ?? []
    return apps.isEmpty ? .builtIn : Schema(apps)
  }

  private static func homeFlag(_ arguments: [String]) -> String? {
    var found: String?
    for (index, argument) in arguments.enumerated() {
      if argument == "--" { break }
      if argument.hasPrefix("--home=") { found = String(argument.dropFirst(7)) }
      if argument == "--home", index + 1 < arguments.count { found = arguments[index + 1] }
    }
    return found
  }
}
