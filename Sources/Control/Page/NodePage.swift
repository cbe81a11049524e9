import Platform
import HTTP
import JSONDocument
import PageServer
import Reasons
import Sodium
import Synchronization
import Transport
import Waymark

/// What the live page of a node shows and does. Actions are the commands of the command line, with the same
/// confirmations.
final class NodePage: PageContent {
  weak let node: Node?
  private let pending = Mutex(PendingConfirmations())
  /// The milliseconds that the last document took.
  let cost = Atomic(0)

  init(_ node: Node) { self.node = node }

  func changes() -> AsyncStream<Void> {
    // One element waits, however many changes there were.
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let task = Task { [weak node, weak self] in
        var revision = await node?.nextChange(since: nil)
        while let seen = revision {
          continuation.yield()
          // Like the node's own watchers, pages take at most a fifth of its time: while a large store syncs, commands and
          // peers come first.
          try? await Task.sleep(for: .milliseconds(4 * (self?.cost.load(ordering: .acquiring) ?? 0)))
          revision = await node?.nextChange(since: seen)
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  // MARK: Actions

  func perform(_ action: PageAction, confirmation: String?) async -> PageActionResult {
    var isConfirmed = false
    if let confirmation {
      isConfirmed = pending.withLock { $0.confirm(confirmation, action, now: monotonicMilliseconds()) }
      guard isConfirmed else { return .failure(Self.notConfirmed.line.bytes()) }
    }
    switch action {
    case .resolveConflict(let conflict, let take):
      return await perform(ResolveConflicts(id: conflict, take: take), action)
    case .undo(let operation):
      var undo = Undo()
      undo.operation = operation
      var preview = undo
      preview.preview = true
      // Not `yes`, which would also revert what was changed since.
      undo.agreed = isConfirmed
      return await perform(undo, action, asks: .largeUndo, preview: preview)
    case .tickHabit(let habit, let date): return await perform(TickHabit(id: habit, date: date), action)
    case .pausePeer(let peer): return await perform(PausePeer(peer: peer), action)
    case .resumePeer(let peer): return await perform(ResumePeer(peer: peer), action)
    case .syncOn:
      var syncOn = TurnSyncOn()
      syncOn.yes = isConfirmed
      var preview = TurnSyncOn()
      preview.preview = true
      return await perform(syncOn, action, asks: .needsYes, preview: preview)
    case .syncOff: return await perform(TurnSyncOff(), action)
    case .invite: return await perform(Invite(role: "member"), action) { try Self.ticket($0) }
    }
  }

  private static let notConfirmed = WaymarkError(
    exitCode: ExitCode.needsYes, code: .declined,
    message: "The confirmation has expired or belongs to another action; nothing was changed.",
    next: "try again")

  /// Performs a command. If it asks for confirmation, answers with its question and what it would do.
  ///
  /// - Parameters:
  ///   - reason: of the refusal that a confirmation lifts. Any other one is a failure, because the same action would be
  ///     refused again after a yes.
  ///   - document: returns the answer as JSON; nil for the document of `--json`.
  private func perform<Asked: NodeCommand>(
    _ command: Asked, _ action: PageAction, asks reason: Reason? = nil, preview: Asked? = nil,
    document: ((Asked.Answer) throws -> JSON)? = nil
  ) async -> PageActionResult {
    guard let node else { return .failure(WaymarkError.hungUp.line.bytes()) }
    do {
      let answer = try await node.answer(command).get()
      let json = try document?(answer) ?? AnswerCoding.document(answer)
      return .answer(JSON.object([.init("type", "answer"), .init("answer", json)]).bytes())
    } catch let failure as WaymarkError
      where failure.exitCode == ExitCode.needsYes && failure.reason == reason
    {
      return await question(failure, action, preview, node)
    } catch {
      return .failure(await node.failure(error).line.bytes())
    }
  }

  private func question<Asked: NodeCommand>(
    _ failure: WaymarkError, _ action: PageAction, _ preview: Asked?, _ node: Node
  ) async -> PageActionResult {
    // Where nothing can be compared, there is no preview, and the question says so.
    var shown = JSON.null
    if let preview, case .success(let answer) = await node.answer(preview) {
      shown = (try? AnswerCoding.document(answer)) ?? .null
    }
    let confirmation = pending.withLock {
      $0.ask(about: action, random: randomBytes(16), now: monotonicMilliseconds())
    }
    let question: JSON = [
      "type": "question", "code": .string(failure.code.rawValue),
      "message": .string(failure.message.description),
      "preview": shown, "confirmation": .string(confirmation),
    ]
    return .question(question.bytes())
  }

  /// The answer of an invitation, with the QR code of its ticket: one text of `0` and `1` for each row.
  private static func ticket(_ answer: Invite.Answer) throws -> JSON {
    var json = try AnswerCoding.document(answer)
    guard let code = answer.ticket.flatMap({ QRCode($0.uppercased()) }) else { return json }
    json["qr"] = .array(
      (0..<code.size).map { row in
        .string((0..<code.size).map { code[row, $0] ? "1" : "0" }.joined())
      })
    return json
  }
}
