import Home
import Reasons
import Testing

@Suite struct `The check of libsodium` {
  @Test func `lets a node start`() throws {
    try WaymarkError.checkSignatureRule()
  }

  @Test func `names the version that was found and what to install`() {
    let error = WaymarkError.signatureRule(libraryVersion: "1.0.99")
    #expect(error.reason == .signatureRule)
    #expect(error.message.description.hasPrefix("libsodium 1.0.99 decides"))
    #expect(error.next?.description == "install a libsodium from 1.0.18 to 1.0.22, then waymark run")
  }
}
