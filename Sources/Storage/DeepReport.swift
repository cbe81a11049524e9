// Protocol/store.md, "Verifying"

package import Replication

/// What a deep verification found.
package struct DeepReport: Sendable {
  package var statements = 0
  package var changeSets: Int64 = 0
  /// Rows of the tables that follow from the log.
  package var rows: Int64 = 0
  /// What is wrong, as much of it as can be listed.
  package private(set) var findings: [DeepFinding] = []
  /// All that is wrong, listed or not, by where it is.
  package private(set) var counts: [DeepFinding.Location: Int] = [:]

  /// The numbers of change sets that are not what was signed; counted under `.log` too.
  package var damagedSets: [Int64] = []

  package static let listedMax = 200

  package var isClean: Bool { counts.isEmpty }

  /// How much is wrong.
  package var count: Int { counts.values.reduce(0, +) }

  /// Whether all that is signed is there and can be read: a backup of it is complete.
  package var isLogWhole: Bool { counts[.log] == nil && counts[.file] == nil }

  /// Whether folding the log again can repair something, and would lose nothing.
  package var isRepairable: Bool {
    counts[.log] == nil && (counts[.records] != nil || counts[.file] != nil)
  }

  /// Whether a restore of a backup of what is signed is what helps.
  package var isRestorable: Bool { counts[.log] == nil && counts[.index] != nil }

  mutating func note(_ finding: DeepFinding) {
    counts[finding.location, default: 0] += 1
    if findings.count < Self.listedMax { findings.append(finding) }
  }

  mutating func note(_ location: DeepFinding.Location, _ text: String) {
    note(DeepFinding(location: location, text: text))
  }
}

/// One thing that is not as the signed log says.
package struct DeepFinding: Hashable, Sendable {
  /// What it would take to mend it.
  package enum Location: String, CaseIterable, Sendable {
    /// The database file itself.
    case file
    /// What is signed: only another copy of it helps.
    case log
    /// What the store notes beside each change set: follows from what is signed.
    case index
    /// The tables that folding the log gives.
    case records
  }

  package var location: Location
  package var record: RecordKey?
  /// What people call the record.
  package var title: String?
  /// Names of the fields that differ.
  package var fields: [String] = []
  package var text: String
}
