public import Observation
public import Waymark

/// What an app suspends while it is in the background: a node.
public protocol Suspendable: Sendable {
  /// Closes connections and files until ``resume()``.
  func suspend() async
  /// Continues as before ``suspend()``.
  ///
  /// - Throws: `WaymarkError`, in which case it is still suspended.
  func resume() async throws
}

extension Node: Suspendable {}

/// Suspends a node when its app enters the background, and resumes it when the app returns.
///
/// Calls are carried out one after the other. An app that comes and goes quickly is taken to the state that it asked for
/// last, without the steps in between.
@MainActor @Observable public final class SceneSuspension {
  /// Whether the node can be used.
  public private(set) var phase = SuspensionPhase.active
  @ObservationIgnored private let node: any Suspendable
  @ObservationIgnored private var isWanted = true
  @ObservationIgnored private var work: Task<Void, Never>?

  /// Creates the suspension of a node that is in use.
  public init(of node: any Suspendable) { self.node = node }

  /// Suspends the node: the app is not on the screen any more.
  public func enterBackground() { want(false) }

  /// Resumes the node: the app is on the screen. After a failure, this tries again.
  public func enterForeground() { want(true) }

  private func want(_ isActive: Bool) {
    isWanted = isActive
    if work == nil { work = Task { await reach() } }
  }

  /// Whether the node is in use, as far as its last step says.
  private var isActive: Bool { phase == .active }

  private func reach() async {
    while isActive != isWanted {
      if isWanted {
        phase = .resuming
        do {
          try await node.resume()
          phase = .active
        } catch {
          phase = .suspended
          // Another attempt follows when the app asks for it; the wish to suspend is met already.
          if isWanted {
            if let failure = error as? WaymarkError { phase = .failed(failure) }
            break
          }
        }
      } else {
        phase = .suspending
        await node.suspend()
        phase = .suspended
      }
    }
    work = nil
  }
}

/// Whether a node that follows its app's scene can be used.
public enum SuspensionPhase: Hashable, Sendable {
  /// The node is in use.
  case active
  /// The node is being suspended.
  case suspending
  /// The node is suspended.
  case suspended
  /// The node is being resumed.
  case resuming
  /// The node is still suspended, because it could not be resumed.
  case failed(WaymarkError)
}
