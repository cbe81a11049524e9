import Foundation
import Membership
import Testing
import Vectors
import Wire

@testable import Engine
@testable import Replication

/// Protocol/transcript.md: a device is given what the other side of the transcript sends, at the times that it states.
/// It must send exactly the messages of its own side, in their order and at their times.
@Suite struct TranscriptTests {
  private static let link = TranscriptDevice.link
  private let transcript: Transcript
  private let steps: [Transcript.Step]

  init() throws {
    transcript = try Transcript.load()
    steps = transcript.session.steps
  }

  @Test(arguments: ["laptop", "phone"])
  func `given the messages of the other side, a device sends exactly its own side`(_ name: String) throws {
    let device = try TranscriptDevice(name, transcript)
    #expect(try device.holding(transcript) == transcript.session.before[name]?.holds)
    try run(device)
    let expected = steps.filter { $0.from == name && isSentByReplicator($0) }
    for (step, sent) in zip(expected, device.sent) {
      let message = try #require(try transcript.message(of: step))
      #expect(sent.at == step.at && sent.bytes == message, "step \(step.number ?? 0), \(step.name)")
    }
    #expect(device.sent.count == expected.count && !expected.isEmpty)
    #expect(device.closes.isEmpty)
    #expect(device.answers == steps.count { $0.device == name && $0.question != nil })
  }

  @Test func `the tables of the chapter list every message of the transcript`() throws {
    let rows = try chapter("transcript.md").split(separator: "\n")
      .map { line in line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
      .filter { $0.count == 7 && Int($0[0]) != nil }
    let listed = rows.map { $0.prefix(6).map { $0.replacing(",", with: "") } }
    let steps = (transcript.pairing.steps + steps).filter { $0.number != nil }
    let expected = try steps.map { step in
      let message = try transcript.message(of: step)?.count ?? 0
      let sent = try step.wireBytes ?? expand(step.wire ?? "").count
      return [
        "\(step.number ?? 0)", "\(step.at)", step.from ?? "", step.name.replacing(",", with: ""),
        message == 0 ? "–" : "\(message)", "\(sent)",
      ]
    }
    #expect(listed == expected)
  }

  /// Gives a device everything that arrives at it, and lets it do what it does by itself.
  private func run(_ device: TranscriptDevice) throws {
    let remote = try transcript.device(device.name == "laptop" ? "phone" : "laptop").transport
    let key = try #require(TransportKey(bytes: try expand(remote)[...]))
    let travel = transcript.session.travelMilliseconds
    for step in steps {
      if step.number == 3 {
        try open(device, step, key, travel)
      } else if step.device == device.name {
        try act(device, step)
      } else if step.to == device.name, step.number ?? 0 > 3 {
        device.handle(try input(step), at: step.at + travel)
      } else {
        continue
      }
      // What the sender of a step holds has not changed.
      guard step.from != device.name, let holding = step.after?[device.name] else { continue }
      #expect(try device.holding(transcript) == holding, "after step \(step.number ?? 0)")
    }
    device.advance(to: (steps.last?.at ?? 0) + travel)
  }

  /// The third handshake message carries the introduction of the laptop.
  private func open(
    _ device: TranscriptDevice, _ step: Transcript.Step, _ remote: TransportKey, _ travel: Moment
  ) throws {
    let message = try #require(try transcript.message(of: step))
    if device.name == step.from {
      device.advance(to: step.at)
      #expect(device.replicator.replica.ownIntroduction(now: device.now.wall) == message)
      device.handle(.opened(Self.link, remote: remote, introduction: nil), at: step.at)
    } else {
      device.handle(.opened(Self.link, remote: remote, introduction: message), at: step.at + travel)
    }
  }

  private func input(_ step: Transcript.Step) throws -> Input {
    guard let message = try transcript.message(of: step) else { return .closed(Self.link) }
    return .received(Self.link, try Message(decoding: message))
  }

  private func act(_ device: TranscriptDevice, _ step: Transcript.Step) throws {
    if let write = step.write {
      try device.write(write, at: step.at)
    } else if let question = step.question {
      let lane = try #require(Lane(rawValue: question.lane))
      device.handle(.ask(Self.link, lane, try question.asked), at: step.at)
    } else {
      // The node around the replicator says goodbye and closes.
      #expect(step.name == "stop")
      let goodbye = try #require(steps.first { $0.name == "goodbye" })
      #expect(Message.goodbye(.shuttingDown).encoded == (try transcript.message(of: goodbye)))
      device.advance(to: step.at)
    }
  }

  private func isSentByReplicator(_ step: Transcript.Step) -> Bool {
    step.number ?? 0 > 3 && step.name != "goodbye" && step.name != "close"
  }
}

extension Transcript.Question {
  fileprivate var asked: Question {
    get throws {
      switch (form, bucket) {
      case (0, nil): return .heads
      case (1, nil): return .digests
      case (2, let bucket?): return .bucket(bucket, after: nil)
      case (3, nil): return .inventory(after: nil)
      default: throw BrokenVector("question \(form)")
      }
    }
  }
}
