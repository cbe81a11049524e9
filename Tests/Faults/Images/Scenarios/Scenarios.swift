import Membership
import Records
import Replication
import Storage
import Wire

extension Scenario {
  package static let all = starts + writes + batches + cuts + upkeep

  // MARK: Starts

  static let starts = [
    Scenario(
      "first start", isFounded: false,
      steps: [
        { try $0.start() }
      ]),
    Scenario(
      "first start, circle and first write", isFounded: false,
      steps: [
        {
          try $0.start()
        },
        { stage in
          try stage.save(stage.cast.genesis, try stage.cast.certificate("alice"))
        },
        {
          try $0.write(at: 10, insert(trip(1), [1: .text("Rome")]))
        },
      ]),
    Scenario(
      "a store is closed and opened again",
      steps: [
        {
          try $0.write(at: 10, insert(trip(1), [1: .text("Rome")]))
        },
        {
          $0.close()
          try $0.start()
        },
        {
          try $0.write(at: 20, edit(trip(1), [1: .text("Roma")]))
        },
      ]),
    Scenario(
      "a process is killed and starts again",
      steps: [
        {
          try $0.write(at: 10, insert(trip(1), [1: .text("Rome")]))
        },
        {
          try $0.kill()
          try $0.start()
        },
        {
          try $0.write(at: 20, edit(trip(1), [1: .text("Roma")]))
        },
      ]),
    Scenario(
      "tables of another registry are folded again",
      given: { stage in
        try trips(stage, 1...6)
        try stage.pretendOlderRegistry()
        stage.close()
      },
      steps: [
        {
          try $0.start()
        },
        {
          try $0.write(at: 90, edit(trip(1), [1: .text("Roma")]))
        },
      ]),
    Scenario(
      "a record is erased, and the write-ahead log is emptied",
      given: { stage in
        try trips(stage, 1...4)
      },
      steps: [
        {
          try $0.write(at: 90, EntryDraft(.erase, trip(2)))
        },
        {
          try $0.store.checkpoint()
        },
      ]),
    Scenario(
      "derived tables are rebuilt at a start",
      given: { stage in
        try trips(stage, 1...4)
        stage.close()
      },
      steps: [
        {
          try $0.open(refolds: true)
          try $0.admit()
        }
      ]),
  ]

  static func trips(_ stage: Stage, _ numbers: ClosedRange<UInt64>) throws {
    for number in numbers {
      try stage.write(
        at: Moment(number), insert(trip(number), [1: .text("Trip \(number)")]),
        lodging(number, of: trip(number)))
    }
  }

  // MARK: Writes

  static let writes = [
    Scenario(
      "a local write of one lane",
      steps: [
        {
          try $0.write(at: 10, insert(trip(1), [1: .text("Rome")]))
        },
        {
          try $0.write(at: 20, edit(trip(1), [1: .text("Roma")]))
        },
      ]),
    Scenario(
      "a local write of both lanes",
      steps: [
        {
          try $0.write(at: 10, insert(trip(1), [1: .text("Rome")]), insert(setting(1), [1: .text("dark")]))
        }
      ]),
    Scenario(
      "an import of several sets",
      steps: [
        { stage in
          let text = String(repeating: "a long story ", count: 120)
          try stage.write(
            at: 10, (1...300).map { insert(trip($0), [1: .text("Trip \($0)"), 2: .text(text)]) })
        }
      ]),
    Scenario(
      "a trip is deleted with its children, and restored",
      given: {
        try trips($0, 1...3)
      },
      steps: [
        {
          try $0.write(at: 20, delete(trip(1)))
        },
        {
          try $0.write(at: 30, restore(trip(1)))
        },
      ]),
    Scenario(
      "an operation is undone",
      given: {
        try trips($0, 1...2)
      },
      steps: [
        { stage in
          try stage.write(at: 20, edit(trip(1), [1: .text("Roma")]))
        },
        { stage in
          let wanted = try stage.store.states(writtenBy: stage.alice.log(.records).device)
          let plan = try stage.store.plan(wanted, now: 30)
          try stage.write(at: 30, plan.drafts + [edit(trip(1), [1: .text("Trip 1")])])
        },
      ]),
    Scenario(
      "the profile is written twice",
      steps: [
        {
          try $0.write(at: 10, edit(FixedRecords.profile, [1: .integer(10), 2: .text("Alice")]))
        },
        {
          try $0.write(at: 20, edit(FixedRecords.profile, [1: .integer(20), 2: .text("Alicia")]))
        },
      ]),
  ]

  // MARK: Batches

  static let batches = [
    Scenario(
      "a batch of another device",
      given: { stage in
        for number in 1...6 as ClosedRange<UInt64> {
          try stage.bobWrites("all", at: Moment(number), insert(trip(number), [1: .text("Trip \(number)")]))
        }
      },
      steps: [
        {
          try $0.hear("all")
        }
      ]),
    Scenario(
      "two devices write the same cell, one of them resolves the conflict",
      given: { stage in
        try trips(stage, 1...1)
        try stage.bobWrites("all", at: 5, insert(trip(1), [1: .text("Oslo")]))
      },
      steps: [
        {
          try $0.hear("all")
        },
        {
          try $0.write(at: 30, edit(trip(1), [1: .text("Rome")]))
        },
      ]),
    Scenario(
      "a set ahead of its time is parked, and folded later",
      given: { stage in
        try trips(stage, 1...1)
        try stage.bobWrites("early", at: 2_000_000, insert(trip(2), [1: .text("Oslo")]))
      },
      steps: [
        {
          try $0.hear("early")
        },
        {
          _ = try $0.store.foldParked(horizon: Clock(milliseconds: 3_000_000))
        },
      ]),
    Scenario(
      "a commit stores notes with it",
      given: { stage in
        try stage.bobWrites("all", at: 5, insert(trip(1), [1: .text("Oslo")]))
      },
      steps: [
        { stage in
          _ = try stage.store.commit(stage.heard["all"] ?? [], horizon: Cast.horizon) { _ in
            try stage.store.setMeta("noted", [1, 2, 3])
            let statement = try stage.cast.entitlement(7)
            try stage.store.addStatements([(statement.id, statement.bytes)])
          }
        }
      ]),
    Scenario(
      "a log forks",
      given: { stage in
        try trips(stage, 1...1)
        let twin = try stage.alice.draft(on: stage.store, at: 8, [edit(trip(1), [1: .text("Oslo")])])
        stage.heard["twin"] = twin
        try stage.write(at: 9, edit(trip(1), [1: .text("Roma")]))
      },
      steps: [
        {
          try $0.hear("twin")
        },
        {
          try $0.write(at: 30, edit(trip(1), [1: .text("Rome")]))
        },
      ]),
  ]
}
