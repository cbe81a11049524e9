import Console
import Control
import Platform
import JSONDocument
import Records
import Waymark
import WaymarkCare

extension ShowHistory: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["history"], summary: "list operations, or all changes to one record",
    operands: [.init(placeholder: "RECORD", key: "record", isOptional: true)],
    options: [
      .init(flag: "--limit", placeholder: "N", summary: "show the newest N; default 20"),
      .init(
        flag: "--ndjson", placeholder: nil,
        summary: "print each operation, or each change, as one line of JSON"),
    ],
    details: """
      Newest first. RECORD is `profile`, or the id or name of a record, including a deleted one. Every
      change is shown with the value that it replaced. A change that lost to one made on another device at
      the same time is kept, and marked.
      """,
    exampleArguments: "Rome")

  func rows(of answer: Answer) -> DocumentRows? {
    DocumentRows(key: answer.record == nil ? "operations" : "writes")
  }

  func render(_ answer: Answer, into rendering: inout Rendering) {
    if ndjson == true {
      rendering.lines(answer.operations)
      rendering.lines(answer.writes)
    } else if let record = answer.record {
      rendering.record(record, answer.writes)
    } else {
      rendering.operations(answer.operations)
    }
    if answer.hasMore {
      let subject = record.map { " " + shellWord($0) } ?? ""
      rendering.notes.paragraph("There are more: \(waymark: "history\(subject) --limit N")")
    }
  }
}

extension Undo: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["undo"], summary: "undo an operation",
    operands: [.init(placeholder: "OPERATION", key: "operation", isOptional: true)],
    options: [.init(flag: "--preview", placeholder: nil, summary: "show the consequences; change nothing")],
    details: """
      Without OPERATION, undoes the newest operation of this device. Values that have been changed since, and
      records that others have added to, are listed and left unchanged; with --yes they are reverted too. Asks
      first if more than 100 records would change, or if the operation was a join, a restore, a mirror or an
      assert. An undo can be undone.
      """,
    exampleArguments: "--preview")

  func render(_ answer: UndoSummary, into rendering: inout Rendering) {
    let operation = answer.operation
    let id = shortID(operation.id.description)
    let who = [
      rendering.verb(operation.verb, operation.undoes), "by \(printable(operation.deviceName))",
      rendering.time.full(operation.time),
    ].joined(separator: ", ")
    let changes = rendering.counts(answer.changes)
    rendering.data.paragraph(
      "\(answer.isPreview ? "Would undo" : "Undid") \(id) (\(who)): "
        + (changes.isEmpty ? "nothing would change" : changes) + ".")
    rendering.leftAlone(answer.left)
    rendering.resolved(answer.resolvedConflicts, isPreview: answer.isPreview)
    if answer.isPreview {
      rendering.notes.paragraph("Nothing was changed. Next: \(waymark: "undo \(id)")")
    } else if let undo = answer.undo {
      rendering.notes.paragraph("To reverse that: \(waymark: "undo \(shortID(undo.description))")")
    }
  }
}

extension Explain: TerminalCommand {
  static let syntax = CommandSpec(
    words: ["why"], summary: "explain the state of a peer, or the values of a record",
    operands: [.init(placeholder: "PEER|RECORD", key: "subject")],
    details: """
      For a peer: what keeps it from being in sync, the cause of that, and what to do. For a record: when,
      on which device and by which command each value was written, and what it replaced or won against.
      """,
    exampleArguments: "phone")

  func render(_ answer: Answer, into rendering: inout Rendering) {
    switch answer {
    case .peer(let explanation): rendering.why(explanation)
    case .record(let explanation): rendering.provenance(explanation.record, explanation.values)
    }
  }
}

// MARK: Operations

extension Rendering {
  fileprivate mutating func operations(_ operations: [History.Operation]) {
    guard !operations.isEmpty else { return notes.paragraph("No operations yet.") }
    let ids = distinctPrefixes(operations.map(\.id.description))
    var table = TextTable([
      .init("OPERATION"), .init("WHEN"), .init("DEVICE", widthMin: 8), .init("WHAT", widthMin: 24),
    ])
    (table.wrapsLast, table.isList) = (true, true)
    for operation in operations {
      table.rows.append([
        .init(data.isPiped ? operation.id.description : ids[operation.id.description] ?? "", .strong),
        .init(time.full(operation.time)),
        .init(operation.deviceName), .init(what(operation), operation.undoneBy == nil ? .none : .faint),
      ])
    }
    data.table(table)
  }

  /// `import · 3 trips, 20,000 entries added`, `trip edit · Rome: name, notes · undone by 3fa91c22`
  func what(_ operation: History.Operation) -> String {
    var parts = [verb(operation.verb, operation.undoes)]
    if let record = operation.record {
      let fields = operation.fields.joined(separator: ", ")
      parts.append(name(record.kind, record.name) + (fields.isEmpty ? "" : ": \(fields)"))
    } else {
      parts.append(counts(operation.counts))
    }
    if let undo = operation.undoneBy { parts.append("undone by \(shortID(undo.description))") }
    return parts.filter { !$0.isEmpty }.joined(separator: " · ")
  }

  /// Returns the command as the user types it, followed by the operation that it undoes, if any.
  fileprivate func verb(_ verb: String, _ undoes: OperationID?) -> String {
    let words = printable(verb).replacing(".", with: " ")
    return undoes.map { "\(words) of \(shortID($0.description))" } ?? words
  }

  private func name(_ kind: RecordKind, _ name: String?) -> String { printable(name ?? kind.rawValue) }

  /// `3 trips, 20,000 entries added; 1 habit deleted`
  fileprivate func counts(_ counts: [RecordCounts]) -> String {
    let shown = counts.filter { $0.kind != .address }
    let actions: [(word: String, count: KeyPath<RecordCounts, Int>)] = [
      ("added", \.added), ("changed", \.changed), ("deleted", \.deleted), ("restored", \.restored),
    ]
    return actions.compactMap { word, count in
      let items = shown.filter { $0[keyPath: count] > 0 }
        .map { amount(Int64($0[keyPath: count]), $0.kind.rawValue) }
      return items.isEmpty ? nil : "\(items.joined(separator: ", ")) \(word)"
    }.joined(separator: "; ")
  }

  private func amount(_ number: Int64, _ kind: String) -> String {
    let plural = Schema.known.kind(named: kind)?.plural ?? "\(kind)s"
    return "\(grouped(number)) \(printable(number == 1 ? kind : plural))"
  }

  // MARK: One record

  fileprivate mutating func record(_ record: History.Record, _ writes: [History.Write]) {
    let note =
      switch record.state {
      case .visible: ""
      case .hidden: "  hidden with its parent"
      case .deleted: "  deleted"
      }
    data.line(
      data.paint("\(printable(record.kind.rawValue)) \(name(record.kind, record.name))", .strong)
        + "  \(record.id.uuidString)" + data.paint(note, .careful))
    if let erasure = record.erasure { data.paragraph(text(of: erasure), .careful) }
    let ids = distinctPrefixes(writes.map(\.id.description))
    for write in writes {
      data.gap()
      var head = [
        time.full(write.time), write.deviceName, verb(write.verb, write.undoes),
        ids[write.id.description] ?? "",
      ]
      if let undo = write.undoneBy { head.append("undone by \(shortID(undo.description))") }
      if write.isHidden { head.append("made without knowing of the deletion") }
      data.paragraph(head.map(printable).joined(separator: "  "), indent: 2)
      fields(write.fields)
    }
  }

  private func text(of erasure: History.Erasure) -> String {
    "Erased on \(time.full(erasure.time)) by \(printable(erasure.deviceName))"
  }

  private mutating func fields(_ fields: [History.Field]) {
    var table = TextTable([.init(""), .init("", widthMin: 10), .init("", widthMin: 24)])
    table.hasHead = false
    table.wrapsLast = true
    for field in fields {
      var text = field.isErased ? "erased" : time.text(field.value)
      if field.isBeforeErased {
        text = "erased → \(text)"
      } else if field.before != .absent {
        text = "\(time.text(field.before)) → \(text)"
      }
      if field.state == .lost {
        let winner = field.lostTo?.deviceName ?? "another device"
        text += "  (superseded by a concurrent change on \(winner); kept)"
      }
      let stress: Stress =
        switch field.state {
        case .shows: .none
        case .replaced: .faint
        case .lost: .careful
        }
      table.rows.append([.init(""), .init(field.field), .init(text, stress)])
    }
    data.table(table)
  }

  // MARK: Undo

  fileprivate mutating func leftAlone(_ left: [UndoSummary.LeftAlone]) {
    guard !left.isEmpty else { return }
    let isFinal = left.allSatisfy { $0.reason == .erased }
    data.paragraph(isFinal ? "Left unchanged:" : "Left unchanged, unless you add --yes:")
    var table = TextTable([.init(""), .init("", widthMin: 16), .init("", widthMin: 24)])
    table.hasHead = false
    table.wrapsLast = true
    let shown = 20
    for item in left.prefix(shown) {
      let record = "\(item.kind) \(item.name ?? shortRecordID(item.id.uuidString))"
      table.rows.append([.init(""), .init(record), .init(reason(item))])
    }
    data.table(table)
    if left.count > shown { data.line("  and \(grouped(Int64(left.count - shown))) more") }
  }

  /// Says that the conflicts are not reopened, and how to take each value that is not displayed.
  fileprivate mutating func resolved(_ conflicts: [UndoSummary.ResolvedConflict], isPreview: Bool) {
    guard !conflicts.isEmpty else { return }
    let subject = conflicts.count == 1 ? "The conflict" : "The conflicts"
    data.paragraph(
      "\(subject) \(isPreview ? "would stay" : conflicts.count == 1 ? "stays" : "stay") resolved:")
    let shown = 20
    for conflict in conflicts.prefix(shown) {
      let current = "\(isPreview ? "would be" : "is now") \(time.text(conflict.current))"
      let others = conflict.others.compactMap { other in
        other.deviceName.map { "; \(printable($0)) wrote \(time.text(other.value))" }
      }
      data.paragraph("  \(printable(conflict.title)) \(current)\(others.joined())", indent: 4)
      for other in conflict.others {
        guard let next = other.next else { continue }
        let goal =
          other.deviceName.map { "take the value from \(printable($0))" }
          ?? (other.value == .text("alive") ? "restore it" : "delete it")
        data.paragraph("    To \(goal): \(printable(next.text(home: data.home)))", indent: 6)
      }
    }
    if conflicts.count > shown { data.line("  and \(grouped(Int64(conflicts.count - shown))) more") }
  }

  private func reason(_ item: UndoSummary.LeftAlone) -> String {
    switch item.reason {
    case .changedSince:
      let fields = item.fields.joined(separator: ", ")
      return "\(fields) changed since by \(item.byName ?? ""), \(time.full(item.time))"
    case .erased:
      let fields = item.fields.joined(separator: ", ")
      let values = fields.isEmpty ? "its values" : "former values of \(fields)"
      guard let name = item.byName else { return "\(values) not on this device" }
      return "\(values) erased by \(name), \(time.full(item.time))"
    case .inUse:
      let names = item.users.prefix(3).map { "\($0.kind) \(name($0.kind, $0.name))" }
      let rest = item.users.count > 3 ? " and \(grouped(Int64(item.users.count - 3))) more" : ""
      return "used by \(names.joined(separator: ", "))\(rest)"
    }
  }

  // MARK: Why

  mutating func provenance(_ record: History.Record, _ values: [RecordExplanation.Provenance]) {
    data.line(
      data.paint("\(printable(record.kind.rawValue)) \(printable(record.name ?? ""))", .strong)
        + "  \(record.id.uuidString)"
        + (record.state == .visible ? "" : "  \(record.state.rawValue)"))
    if let erasure = record.erasure { data.paragraph(text(of: erasure), .careful) }
    guard !values.isEmpty else {
      return data.paragraph("Never changed: it still has the values that every new circle starts with.")
    }
    var table = TextTable([
      .init("FIELD", widthMin: 8), .init("WHEN"), .init("DEVICE", widthMin: 8), .init("BY"),
      .init("VALUE", widthMin: 24),
    ])
    table.wrapsLast = true
    for value in values {
      table.rows.append(row(value.field, value.written, "", .none))
      for beaten in value.wonAgainst {
        table.rows.append(
          beaten.how == .concurrent
            ? row(value.field, beaten, "lost then: ", .careful, isFirst: false)
            : row(value.field, beaten, "replaced: ", .faint, isFirst: false))
      }
    }
    data.table(table)
  }

  private func row(
    _ field: String, _ write: RecordExplanation.Written, _ lead: String, _ stress: Stress,
    isFirst: Bool = true
  ) -> [TextTable.Cell] {
    // The life of a record is no field that people know.
    let isLife = field == "life"
    let value = isLife && write.value == .text("alive") ? "created" : time.text(write.value)
    return [
      .init(isFirst && !isLife ? field : ""), .init(time.full(write.author.time)),
      .init(write.author.deviceName),
      .init(write.author.verb.replacing(".", with: " ")),
      .init(lead + (write.isErased ? "erased" : value), stress),
    ]
  }
}
