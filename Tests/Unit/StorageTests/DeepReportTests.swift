import Testing
import Wire

@testable import Verification

/// What may be done about the findings of a deep verification, which depends on where they are.
@Suite struct DeepReportTests {
  /// What the report of findings in some places says.
  struct Case: Sendable {
    let places: [DeepFinding.Location]
    var isLogWhole = false
    var isRepairable = false
    var isRestorable = false
  }

  @Test(arguments: [
    Case(places: [], isLogWhole: true),
    Case(places: [.records], isLogWhole: true, isRepairable: true),
    Case(places: [.index], isLogWhole: true, isRestorable: true),
    Case(places: [.index, .records], isLogWhole: true, isRepairable: true, isRestorable: true),
    Case(places: [.content], isLogWhole: true),
    // A damaged page may hold signed data.
    Case(places: [.file], isRepairable: true),
    Case(places: [.file, .index], isRepairable: true, isRestorable: true),
    // Without the whole log, folding it again would lose what only the tables still have.
    Case(places: [.log]), Case(places: [.log, .records]), Case(places: [.file, .log]),
    Case(places: [.log, .index]),
  ])
  func `a store is repaired or restored only from a log that is whole`(expected: Case) {
    var report = DeepReport()
    for place in expected.places { report.note(place, "something") }
    #expect(report.isClean == expected.places.isEmpty && report.count == expected.places.count)
    #expect(report.isLogWhole == expected.isLogWhole)
    #expect(report.isRepairable == expected.isRepairable)
    #expect(report.isRestorable == expected.isRestorable)
  }

  @Test func `all findings are counted, and the first ones listed`() {
    var report = DeepReport()
    for number in 1...DeepReport.listedMax { report.note(.records, "\(number)") }
    #expect(report.findings.count == DeepReport.listedMax)
    for _ in 1...3 { report.note(.log, "more") }
    #expect(report.findings.count == DeepReport.listedMax && report.findings.last?.location == .records)
    #expect(report.count == DeepReport.listedMax + 3 && report.counts[.log] == 3 && !report.isRepairable)
  }

  @Test func `damaged files are findings, and files that are intact are only counted`() {
    var report = DeepReport()
    report.note((count: 7, damaged: []))
    #expect(report.isClean && report.files == 7 && report.damagedFiles == [])
    report.note((count: 7, damaged: [Bytes32(0xab, 0, 0, 1), Bytes32(0xcd, 0, 0, 2)]))
    #expect(report.count == 2 && report.counts == [.content: 2] && report.damagedFiles.count == 2)
    #expect(report.files == 7 && report.isLogWhole && !report.isRepairable && !report.isRestorable)
  }
}
