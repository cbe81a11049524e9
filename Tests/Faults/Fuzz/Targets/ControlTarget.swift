import Control
import JSONDocument
import Waymark
import WaymarkCare
import WaymarkTesting
import Wire

/// Lines of the control socket, one request each, executed by a real node.
///
/// Creating a node is slow, so one serves many inputs: the only target where an input sees the state that earlier
/// ones left.
@Sendable func fuzzControl(_ input: [UInt8]) async throws {
  let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 15)
  var requests: [ControlRequest] = []
  for line in lines {
    guard let json = try? JSON.parse(Array(line)) else { continue }
    let again = try? JSON.parse(json.bytes())
    try require(again == json, "JSON changes when it is re-encoded")
    guard let request = ControlRequest(line: Array(line)), isHarmless(request) else { continue }
    requests.append(request)
  }
  guard !requests.isEmpty else { return }
  let node = try await ControlSetup.shared.node()
  for request in requests {
    guard case .success(let document) = await node.node.answer(to: request) else { continue }
    try require((try? JSON.parse(document.bytes())) == document, "an answer is not valid JSON")
  }
  _ = try await node.node.status()
}

/// Commands that access paths outside the node's directory, wait for an event or open a port are skipped.
private func isHarmless(_ request: ControlRequest) -> Bool {
  let outside = ["export", "import", "backup", "verify", "mirror", "assert", "invite", "wait", "page.open"]
  return !outside.contains(request.command) && !namesFile(request.arguments)
}

private func namesFile(_ json: JSON) -> Bool {
  switch json {
  case .string(let text): text.contains("/")
  case .array(let items): items.contains(where: namesFile)
  case .object(let members): members.contains { $0.key == "output" || namesFile($0.value) }
  default: false
  }
}

/// The node that receives the requests, replaced every so often.
private actor ControlSetup {
  static let shared = ControlSetup()

  private var current: TestNode?
  private var left = 0

  func node() async throws -> TestNode {
    left -= 1
    if let current, left > 0 { return current }
    await current?.close()
    let node = try await TestNode.founder()
    current = node
    left = 64
    return node
  }
}
