/// One interface that strangers can reach, fed with bytes from the fuzzer.
///
/// A body throws when it finds a broken rule; a trap is detected without help. Each input is independent: what a body
/// does depends on the bytes alone (except for `control`), so that a finding can be reproduced.
package struct FuzzTarget: Sendable {
  package enum Body: Sendable {
    case immediate(@Sendable ([UInt8]) throws -> Void)
    /// Needs a node, which is an actor.
    case waiting(@Sendable ([UInt8]) async throws -> Void)
  }

  package let name: String
  package let body: Body
  /// Seed inputs, in addition to those of the corpus.
  package let seeds: @Sendable () throws -> [[UInt8]]

  package static let all: [FuzzTarget] = [
    FuzzTarget(name: "cbor", body: .immediate(fuzzCBOR), seeds: Seeds.cbor),
    FuzzTarget(name: "messages", body: .immediate(fuzzMessage), seeds: Seeds.messages),
    FuzzTarget(name: "frames", body: .immediate(fuzzFrames), seeds: Seeds.operations),
    FuzzTarget(name: "handshake", body: .immediate(fuzzHandshake), seeds: Seeds.handshakes),
    FuzzTarget(name: "session", body: .immediate(fuzzSession), seeds: Seeds.operations),
    FuzzTarget(name: "change-sets", body: .immediate(fuzzChangeSet), seeds: Seeds.changeSets),
    FuzzTarget(name: "statements", body: .immediate(fuzzStatements), seeds: Seeds.statements),
    FuzzTarget(name: "purchases", body: .immediate(fuzzPurchases), seeds: Seeds.purchases),
    FuzzTarget(name: "tickets", body: .immediate(fuzzTicket), seeds: Seeds.tickets),
    FuzzTarget(name: "beacons", body: .immediate(fuzzBeacons), seeds: Seeds.beacons),
    FuzzTarget(name: "codes", body: .immediate(fuzzCodes), seeds: Seeds.codes),
    FuzzTarget(name: "control", body: .waiting(fuzzControl), seeds: Seeds.control),
    FuzzTarget(name: "http", body: .immediate(fuzzHTTP), seeds: Seeds.requests),
    FuzzTarget(name: "ritualist", body: .immediate(fuzzRitualist), seeds: Seeds.ritualist),
    FuzzTarget(name: "traveling-snails", body: .immediate(fuzzTravelingSnails), seeds: Seeds.travelingSnails),
    FuzzTarget(name: "foreign-files", body: .immediate(fuzzForeignFile), seeds: Seeds.foreignFiles),
    FuzzTarget(name: "backups", body: .waiting(fuzzBackup), seeds: Seeds.backups),
  ]

  /// Runs one input to completion.
  package func run(_ input: [UInt8]) async throws {
    switch body {
    case .immediate(let body): try body(input)
    case .waiting(let body): try await body(input)
    }
  }
}

/// A rule that an input broke.
package struct BrokenRule: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

/// Throws unless the condition holds.
func require(_ condition: Bool, _ rule: @autoclosure () -> String) throws {
  guard condition else { throw BrokenRule(rule()) }
}
