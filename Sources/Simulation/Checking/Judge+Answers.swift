// Protocol/session.md, "Questions"

extension Judge {
  /// Records an answer, to be checked after the step. A node may only answer questions asked on the same connection.
  func noteAnswer(
    _ answer: PlainAnswer, from: String, to: String, link: UInt64, _ ledger: NodeLedger
  ) throws {
    guard let question = ledger.questions[link]?[answer.token] else {
      throw Violation(.falseMisbehaviour, from, "it sent \(to) an answer to a question that was not asked")
    }
    ledger.answers.append((to, question, answer))
  }

  /// Compares a node's answers with those that its folded sets give. Skips answers given for a state that was replaced
  /// later in the same step.
  func checkAnswers(_ view: NodeView, _ ledger: NodeLedger) throws {
    guard !ledger.answers.isEmpty else { return }
    let heads = view.heads ?? ViewHeads(view, library)
    view.heads = heads
    for (to, question, answer) in ledger.answers where answer.folded == heads.hashes[answer.lane].folded {
      count { $0.answers += 1 }
      let (wanted, isDone) = expected(question, heads, view)
      guard answer.lane != question.lane || answer.content != wanted || answer.isDone != isDone else {
        continue
      }
      throw Violation(
        .state, view.name,
        "its answer to \(to) about \(question.form) of lane \(question.lane) differs from what its folded sets give"
      )
    }
  }

  private func expected(
    _ question: PlainQuestion, _ heads: ViewHeads, _ view: NodeView
  ) -> (PlainAnswer.Content, isDone: Bool) {
    switch question.form {
    case .heads:
      let all = heads.heads[question.lane].map {
        PlainAnswer.Head(id: $0.id, sequence: $0.sequence, foldedSequence: $0.foldedSequence)
      }
      return (.heads(all), true)
    case .digests: return (.digests(view.digests.sums[question.lane].flatMap(\.bytes)), true)
    case .bucket, .inventory:
      let all = records(question, view)
      return (.records(Array(all.prefix(4_096))), all.count <= 4_096)
    }
  }

  private func records(_ question: PlainQuestion, _ view: NodeView) -> [PlainAnswer.Record] {
    let expected = Expectations(view, library)
    let keys = library.writes.keys.filter { key in
      let (lane, bucket) = ViewDigests.bucket(key)
      return lane == question.lane && (question.form == .inventory || bucket == question.bucket)
        && question.after.map { $0 < key } ?? true
    }
    return keys.sorted().compactMap { key in
      let record = expected[key]
      let isShown = !record.cells.isEmpty && expected.isVisible(key)
      let hash =
        switch question.form {
        case .inventory: isShown ? contentsHash(record) : nil
        default: ViewDigests.hash(record, library)
        }
      return hash.map { PlainAnswer.Record(key: key, hash: $0) }
    }
  }

  /// Returns the hash of all fields that are not empty, except the life.
  private func contentsHash(_ record: PlainRecord) -> Name32 {
    var fields: [Int: [UInt8]] = record.key == PlainKinds.none ? [1: [0x64] + Array("None".utf8)] : [:]
    for (field, cell) in record.cells {
      if case .whole = cell.winner.content {
        fields = cell.winner.shownFields
      } else if field != 0 {
        fields[field] = cell.winner.shown
      }
    }
    let held = fields.filter { $0.value != [0xf6] }.sorted { $0.key < $1.key }
    var map = plainHead(5, UInt64(held.count))
    for (field, content) in held { map += plainHead(0, UInt64(field)) + content }
    return PlainSealing.hash("waymark/record-contents/v1", map)
  }
}
