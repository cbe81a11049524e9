import ChangeHistory
import Reasons
import Testing

/// Long work in slices.
struct PaceTests {
  /// The time, and how often the work was told that it may go on.
  private final class Scene {
    var now: Int64 = 1_000
    var checks = 0
    var isOpen = true

    func pace() -> Pace {
      Pace(slice: 50, steady: { self.now }) {
        self.checks += 1
        if !self.isOpen { throw WaymarkError.usage("the store has closed") }
      }
    }
  }

  @Test func `work pauses when a slice is over, and each slice has its full length`() async throws {
    let scene = Scene()
    let pace = scene.pace()
    for (time, checks) in [
      (1_000, 0), (1_049, 0), (1_050, 1), (1_099, 1), (1_100, 2), (1_110, 2), (9_000, 3),
    ] {
      scene.now = Int64(time)
      try await pace.step()
      #expect(scene.checks == checks, "\(time)")
    }
    #expect(pace.steps == 7)
  }

  @Test func `work that can't go on ends after its slice, and not before`() async throws {
    let scene = Scene()
    let pace = scene.pace()
    scene.isOpen = false
    try await pace.step()
    scene.now += 50
    var isEnded = false
    do { try await pace.step() } catch is WaymarkError { isEnded = true }
    #expect(isEnded && scene.checks == 1)
  }

  @Test func `cancelled work ends after its slice, before anything is read for it`() async throws {
    let outcome = await Task { () -> (isCancelled: Bool, checks: Int) in
      let scene = Scene()
      let pace = scene.pace()
      cancelOwnTask()
      do {
        // Within a slice the work goes on.
        try await pace.step()
        scene.now += 50
        try await pace.step()
        return (false, scene.checks)
      } catch {
        return (error is CancellationError && pace.steps == 2, scene.checks)
      }
    }.value
    #expect(outcome.isCancelled && outcome.checks == 0)
  }
}

/// Cancels the task that calls this.
private func cancelOwnTask() { withUnsafeCurrentTask { $0?.cancel() } }
