import Console
import Control
import Foundation
import JSONDocument
import Testing
import Waymark
import WaymarkCare

@testable import WaymarkCommand

/// Rules for all text that people read.
struct WordTests {
  private static let typed: [(step: Step, plain: String, atHome: String)] = [
    (.waymark("run"), "waymark run", "waymark --home '/a b' run"),
    (
      "\(waymark: "status"), or another --home", "waymark status, or another --home",
      "waymark --home '/a b' status, or another --home"
    ),
    (.waymark("run", on: "phone"), "waymark run, on phone", "waymark run, on phone"),
    (
      "\(waymark: "invite", on: "another device"); then here \(waymark: "join TICKET")",
      "waymark invite, on another device; then here waymark join TICKET",
      "waymark invite, on another device; then here waymark --home '/a b' join TICKET"
    ),
    (
      "\(waymark: "help premium"), then \(waymark: "sync on")", "waymark help premium, then waymark sync on",
      "waymark help premium, then waymark --home '/a b' sync on"
    ),
    ("chmod 700 /a/waymark", "chmod 700 /a/waymark", "chmod 700 /a/waymark"),
  ]

  @Test(arguments: typed.indices) func `a next step names the given home`(index: Int) throws {
    let (step, plain, atHome) = Self.typed[index]
    #expect(step.text(home: nil) == plain)
    #expect(step.text(home: "/a b") == atHome)
    // As programs read it, and as it comes back over the control socket.
    #expect(try AnswerCoding.document([step], home: "/a b") == [.string(atHome)])
    #expect(try AnswerCoding.decode([Step].self, from: AnswerCoding.encode([step])) == [step])
  }

  @Test func `a step on the device of a row does not name it again`() {
    #expect(Step.waymark("run", on: "nas").text(home: nil, inRowOf: "nas") == "waymark run, there")
    #expect(Step.waymark("run", on: "nas").text(home: nil, inRowOf: "na") == "waymark run, on nas")
  }

  @Test func `a failure without a next step shows where to read more`() throws {
    let invocation = try CommandParser(directory: "/").parse(["trip", "add", "name=Rome"])
    let usage = WaymarkError(exitCode: ExitCode.usage, code: .badValue, message: "It can't be.")
    #expect(invocation.completing(usage).next?.description == "waymark help trip add")
    let many = WaymarkError(exitCode: ExitCode.usage, code: .ambiguous, message: "It could be.")
    #expect(invocation.completing(many).next?.description == "waymark help ids")
  }

  /// Every text in the sources that suggests a command.
  private static let steps: [(place: String, step: String)] = {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    var steps: [(String, String)] = []
    for module in [
      "Reasons", "Console", "Home", "NodeRuntime", "NodeOperations", "Waymark", "Control", "WaymarkCommand",
    ] {
      let folder = root.appending(path: "Sources/\(module)")
      let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
      for file in files.sorted() where file.hasSuffix(".swift") {
        let text = (try? String(contentsOf: folder.appending(path: file), encoding: .utf8)) ?? ""
        for line in text.split(separator: "\n") where !line.contains("///") && !line.contains("//  ") {
          for match in line.matches(of: /waymark(?: |: "|\(")((?:--[a-z-]+ )*[a-z]+(?: [a-z]+(?:-[a-z]+)*)*)/)
          {
            steps.append((file, String(match.output.1)))
          }
        }
      }
    }
    return steps
  }()

  /// Other words that follow the name of the program: parts of sentences, and file headers.
  private static let others: Set = ["did", "incarnation", "kept", "sealed", "there", "waymark", "words"]

  @Test func `every suggested command parses`() throws {
    #expect(Self.steps.count > 150)
    let commands = Set(CommandTable.all.map { $0.words[0] })
    let groups = Dictionary(grouping: CommandTable.all.filter { $0.words.count > 1 }) { $0.words[0] }
    for (place, step) in Self.steps {
      let words = step.split(separator: " ").map(String.init).filter { !$0.hasPrefix("--") }
      guard let first = words.first else { continue }
      // `waymark paths says where they are`, `waymark needs …`: parts of sentences.
      if Self.others.contains(first) { continue }
      #expect(commands.contains(first) || first == "buy", "\(place): waymark \(step)")
      guard let group = groups[first], words.count > 1 else { continue }
      let seconds = Set(group.map { $0.words[1] })
      let isAlone = CommandTable.all.contains {
        $0.words == [first] || ($0.impliesLastWord && $0.words[0] == first)
      }
      #expect(seconds.contains(words[1]) || isAlone, "\(place): waymark \(step)")
    }
  }

  @Test func `each reason that a command resolves names it, and the device on which to type it`() {
    for reason in Reason.ofStates {
      let next = reason.next(peer: "bob")?.description
      switch reason.remedy {
      case .command: #expect(next?.hasPrefix("waymark ") == true, "\(reason)")
      case .elsewhere where next != nil:
        #expect(next?.contains(" on bob") == true || next == "waymark members", "\(reason): \(next ?? "")")
      case .hands: #expect(next != nil, "\(reason)")
      default: break
      }
      let sentence = "\(reason.sentence(peer: "bob"))"
      #expect(sentence.first?.isUppercase == false && !sentence.hasSuffix("."), "\(reason): a clause")
      #expect(sentence.displayWidth + (next?.displayWidth ?? 0) < 200, "the text of \(reason) is too long")
    }
  }

  @Test func `summaries of commands are clauses of one line with the same form`() {
    for spec in CommandTable.all {
      let summary = spec.summary
      #expect(summary.first?.isLowercase == true && !summary.hasSuffix("."), "\(spec.name): \(summary)")
      #expect(summary.displayWidth <= 80, "\(spec.name)")
      for option in spec.options {
        #expect(option.summary.first?.isUppercase == false, "\(spec.name) \(option.flag)")
        #expect(!option.summary.hasSuffix("."), "\(spec.name) \(option.flag)")
      }
    }
  }

  @Test func `a small window shows problems before what is fine`() {
    let lines = (1...12).map { "line \($0)" }
    #expect(CommandRun.cut(lines, to: 12) == lines)
    let cut = CommandRun.cut(lines, to: 5)
    #expect(cut.count == 5 && cut[0] == "line 1")
    #expect(cut.last == "… and 8 more lines: enlarge the window")
  }

  @Test func `habit logs are listed, not mistaken for the log of the node`() throws {
    var rendering = Rendering(
      width: 80, hasColor: false, notesWidth: 80, notesHaveColor: false, time: TimeText(now: 0))
    try rendering.show(
      ["schema": "waymark.entry.add/1", "id": "0196F0A2"],
      of: Invocation(words: ["entry", "add"], arguments: .object([]), options: GlobalOptions()))
    #expect(rendering.data.text == "Added entry (0196F0A2)\n")
  }
}
