import Foundation
import Testing

/// Completions from the store, as the scripts of the shells ask for them.
struct LiveCompletionTests {
  @Test func `names are completed as they are typed, each only where it can stand`() async throws {
    try await Workshop.with { workshop in
      let alice = workshop.device("alice")
      try await alice.run("init", "--name", "alice")
      let trips: Set = ["Rome", "Old Rome", "O'Hare"]
      for name in trips { try await alice.run("trip", "add", "name=\(name)") }
      try await alice.run("lodging", "add", "name=Casa", "trip=Rome")
      func offered(_ words: String, home: String) async throws -> Set<String> {
        let line = "\(alice.build.program.path) __complete -- \(home) \(words)"
        let outcome = try await alice.shell(line)
        #expect(outcome.code == 0 && outcome.errors.isEmpty, "\(words): \(outcome)")
        return Set(outcome.output.split(separator: "\n").map(String.init))
      }
      // The words as a shell reads them.
      let lines: [(words: String, expected: Set<String>)] = [
        ("trip show ''", trips),
        // Words arrive with the quotes and backslashes that were typed.
        (#"trip show "'Old R""#, ["Old Rome"]), (#"trip show 'Old\ R'"#, ["Old Rome"]),
        (#"trip show '"Old R'"#, ["Old Rome"]), (#"trip show "O\\'H""#, ["O'Hare"]),
        // A command takes only so many names.
        ("trip show Rome ''", []), ("export --trip=Old", ["--trip=Old Rome"]),
        ("trip edit Rome name=x n", ["notes="]), ("attachment add lodging=", ["lodging=Casa"]),
        // The only device of the circle is this one.
        ("peers ping ''", []), ("conflicts resolve x --take ''", ["winner", "loser"]),
      ]
      for (words, expected) in lines {
        #expect(try await offered(words, home: "--home '\(alice.home)'") == expected, "\(words)")
      }
      #expect(try await offered("trip show ''", home: "'--home=\(alice.home)'") == trips)
    }
  }
}
