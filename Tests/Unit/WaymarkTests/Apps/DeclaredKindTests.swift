import Model
import NodeRuntime
import Reasons
import Testing
import Waymark
import WaymarkCare
import WaymarkTesting

/// What an app declares of its own kinds.
struct DeclaredKindTests {
  @Test func `an empty list of texts is read as empty, also if a new record has some texts`() async throws {
    let alice = try Node.inMemory(schema: AppSchema("com.example.lists", CheckList.self))
    var list = CheckList(id: .new())
    list.name = "Rome"
    #expect(list.steps == ["Pack"])
    list.steps = []
    list = try await alice.save(list)
    #expect(try await alice.record(list.id)?.steps == [])
    list.steps = ["Book", "Pack"]
    list = try await alice.save(list)
    #expect(try await alice.record(list.id)?.steps == ["Book", "Pack"])
    list.steps = []
    list = try await alice.save(list)
    #expect(try await alice.record(list.id)?.steps == [])
    await alice.close()
  }

  @Test func `a schema with a built-in kind is refused, and not made without that kind`() {
    let refused = #expect(throws: WaymarkError.self) {
      _ = try AppSchema("com.example.lists", CheckList.self, Trip.self)
    }
    #expect(refused?.reason == .schema)
    #expect(refused?.message.description.contains("built-in kinds") == true)
  }
}

/// A list whose new records begin with a step.
private struct CheckList: Record {
  let id: ID
  var name = ""
  var steps = ["Pack"]
  var origin = RecordOrigin()

  init(id: ID) { self.id = id }

  static let fields = RecordFields<CheckList>(
    3_101, "check-list", plural: "check-lists", id: \.id, title: \.name,
    [.text(1, "name", \.name), .texts(2, "steps", \.steps)])
}
