import Foundation
import Home
import Model
import Testing
import Waymark
import WaymarkCare
import WaymarkTesting

/// Errors and reasons in the language of an app.
@Suite struct LocalizedErrorTests {
  @Test(arguments: [
    ("There is no %@ “%@”.", "Es gibt keine %@ „%@“.", "Es gibt keine Reise „Rom“."),
    ("There is no %@ “%@”.", "„%2$@“: keine %1$@", "„Rom“: keine Reise"),
    // A faulty translation never fails.
    (
      "There is no %@ “%@”.", "%@ %@ %@ %9$@ %0$@ %99999999999999999999$@ 5 % %",
      "Reise Rom %@ %9$@ %0$@ %99999999999999999999$@ 5 % %"
    ),
    ("There is no %@ “%@”.", "100 %% %", "100 % %"),
  ])
  func `a translation uses the values of a message in its own order`(
    pattern: String, translation: String, expected: String
  ) {
    let text = WaymarkError.notFound("trip", "Rom").message
    #expect(text.pattern == pattern)
    #expect(text.text { $0 == pattern ? translation : $0 == "trip" ? "Reise" : nil } == expected)
    #expect("\(text)" == "There is no trip “Rom”.")
  }

  @Test func `percent signs in values and in patterns stay`() {
    let text: LocalizableText = "100 % of \("50 %@ %1$@")"
    #expect(text.pattern == "100 %% of %@")
    #expect("\(text)" == "100 % of 50 %@ %1$@")
    #expect("\(LocalizableText(word: "5 %@"))" == "5 %@")
  }

  @Test func `a sentence begins with a capital letter, unless it begins with the name of a device`() {
    let clause = Reason.freeTier.sentence()
    let sentence: LocalizableText = "\(sentence: clause)."
    #expect("\(sentence)" == "Without premium, only settings sync; records stay on this device.")
    #expect(sentence.text { $0 == clause.pattern ? "ohne Premium" : nil } == "Ohne Premium.")
    let named: LocalizableText = "\(sentence: Reason.offline.sentence(peer: "bob"))."
    #expect("\(named)" == "bob can't be reached; this device keeps trying.")
    #expect(named.text { $0.hasPrefix("%@ can't") ? "nicht da: %1$@" : nil } == "Nicht da: bob.")
  }

  @Test func `every reason has a clause whose pattern contains no name`() {
    for reason in Reason.allCases {
      let clause = reason.sentence(peer: "Anna's phone")
      #expect(!clause.pattern.contains("Anna"), "\(reason)")
      #expect(!clause.pattern.contains("waymark "), "\(reason) names a command")
    }
  }

  @Test func `an app shows an error without commands of the terminal`() async throws {
    let circle = try await TestCircle("phone")
    let phone = circle["phone"]
    let refused = await #expect(throws: WaymarkError.self) {
      try await phone.save(Lodging(name: "Casa Rosa", tripID: .new()))
    }
    let error = try #require(refused)
    #expect(error.localizedDescription == "\(error.message)")
    #expect(!error.localizedDescription.contains("waymark "))

    let empty = await #expect(throws: WaymarkError.self) { try await phone.save(Trip(name: "")) }
    #expect(empty?.field == "name" && empty?.errorDescription == "Every trip needs `name`.")
    #expect(empty?.recoverySuggestion == nil)
    let closed = WaymarkError.failed(.file, "No.", next: "free some space")
    #expect(closed.recoverySuggestion == "Free some space.")
  }
}
