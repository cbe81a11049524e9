// Sources/store.md, "Verifying"

package import Records
package import Replication
package import Wire

/// The result of a deep verification.
package struct DeepReport: Sendable {
  /// The kinds of records that the store knows.
  package var schema = Schema.builtIn
  package var statements = 0
  package var changeSets: Int64 = 0
  /// The number of rows compared in the tables that are derived from the log.
  package var rows: Int64 = 0
  /// The first findings, at most `listedMax`.
  package private(set) var findings: [DeepFinding] = []
  /// The number of findings by location, including findings that are not listed.
  package private(set) var counts: [DeepFinding.Location: Int] = [:]

  /// The number of slots whose values were erased, and of slots whose values are missing although no erase explains it.
  package var erasedValues = 0
  package var missingValues = 0

  /// The numbers of the change sets whose values do not match their commitments. They are also counted under `.log`.
  package var damagedValues: [Int64] = []

  /// The numbers of the change sets that are not as they were signed, including those with damaged values. They are also counted under `.log`.
  package var damagedSets: [Int64] = []

  /// The number of files verified, and the ids of those whose bytes are damaged. The latter are also counted under
  /// `.content`.
  package private(set) var files = 0
  package private(set) var damagedFiles: [Bytes32] = []

  package static let listedMax = 200

  package var isClean: Bool { counts.isEmpty }

  /// The total number of findings.
  package var count: Int { counts.values.reduce(0, +) }

  /// Whether all signed data is present and readable, so that a backup of it is complete.
  package var isLogWhole: Bool { counts[.log] == nil && counts[.file] == nil }

  /// Whether folding the log again can repair something without losing anything.
  package var isRepairable: Bool {
    counts[.log] == nil && (counts[.records] != nil || counts[.file] != nil)
  }

  /// Whether backing up the signed data and restoring it would repair the store.
  package var isRestorable: Bool { counts[.log] == nil && counts[.index] != nil }

  /// Adds the result of verifying the files.
  package mutating func note(_ verified: (count: Int, damaged: [Bytes32])) {
    (files, damagedFiles) = verified
    for id in damagedFiles {
      note(.content, "the bytes of the file \(hexadecimal(id.bytes.prefix(4))) are damaged")
    }
  }

  mutating func note(_ finding: DeepFinding) {
    counts[finding.location, default: 0] += 1
    if findings.count < Self.listedMax { findings.append(finding) }
  }

  mutating func note(_ location: DeepFinding.Location, _ text: String) {
    note(DeepFinding(location: location, text: text))
  }
}

/// One deviation from what the signed log implies.
package struct DeepFinding: Hashable, Sendable {
  /// Where the deviation is, which decides how to repair it.
  package enum Location: String, CaseIterable, Sendable {
    /// The database file itself.
    case file
    /// Signed data, which can be repaired only from another copy.
    case log
    /// The columns and tables that index the change sets; they follow from the signed data.
    case index
    /// The tables that folding the log produces.
    case records
    /// The bytes of attachments and pictures.
    case content
  }

  package var location: Location
  package var record: RecordKey?
  /// A name for the record, for display.
  package var title: String?
  /// The names of the fields that differ.
  package var fields: [String] = []
  package var text: String
}
