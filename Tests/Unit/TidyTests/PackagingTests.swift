import Foundation
import Testing

/// The files in `.packaging`, which repeat what the sources define.
@Suite struct PackagingTests {
  @Test func `the rules for firewalls admit the ports of the node`() throws {
    let listen = try value(
      of: /let defaultListen = "\[::\]:(\d+)"/, in: "Sources/WaymarkCommand/CommandRun+Serve.swift")
    let beacons = try value(
      of: /static let port: UInt16 = ([\d_]+)/, in: "Sources/NodeRuntime/Network/Connections+Discovery.swift")
    let ports = ["tcp": listen, "udp": beacons.filter { $0 != "_" }]

    let ufw = try value(of: /ports=(\S+)/, in: ".packaging/ufw").split(separator: "|").map(String.init)
    #expect(Set(ufw) == Set(ports.map { "\($1)/\($0)" }))
    let firewalld = try Repository.text(".packaging/firewalld.xml")
      .matches(of: /<port protocol="(\w+)" port="(\d+)"\/>/).map { "\($0.output.2)/\($0.output.1)" }
    #expect(firewalld.sorted() == ufw.sorted())
    let image = try value(of: /"ExposedPorts": \{(.*)\}/, in: ".packaging/image")
    #expect(image.matches(of: /"(\d+\/\w+)": \{\}/).map { String($0.output.1) }.sorted() == ufw.sorted())
  }

  @Test func `the guide runs the image under the name that it has`() throws {
    let version = try value(of: /let text = "(.*)"/, in: "Sources/Home/WaymarkVersion.swift")
    let names = try Repository.text("Sources/guide.md").matches(of: /waymark:(\d[\w.]*)/)
    #expect(names.count > 1 && names.allSatisfy { $0.output.1 == version })
  }

  @Test func `what no one has tried says so in its first line`() throws {
    for path in [".packaging/waymark.rb", ".packaging/flake.nix"] {
      #expect(try Repository.text(path).hasPrefix("# Untried: no one has "), "\(path)")
    }
  }

  private func value(of pattern: Regex<(Substring, Substring)>, in path: String) throws -> String {
    let match = try #require(try Repository.text(path).firstMatch(of: pattern), "\(path)")
    return String(match.output.1)
  }
}
