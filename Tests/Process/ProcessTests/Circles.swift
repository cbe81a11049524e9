import Foundation
import JSONDocument
import Processes
import Wire

/// A seller of premium: a key pair in the folder of a stage.
struct Seller: Sendable {
  let stage: Stage
  let name: String

  var key: String { stage.path(name) }
  var publicKey: String { key + ".pub" }

  /// Creates the keys; any device can run the command.
  static func make(_ name: String = "seller", with device: Device) async throws -> Seller {
    let seller = Seller(stage: device.stage, name: name)
    try await device.text("issuer", "init", seller.key)
    return seller
  }

  /// A certificate valid from around now for some seconds; without a device it covers the whole circle.
  func certificate(
    _ circle: String, for devices: [String] = [], from: TimeInterval? = nil, until: TimeInterval,
    with device: Device
  ) async throws -> String {
    let file = stage.path("certificate-\(stage.number())")
    var words = ["issuer", "issue", "--key", key, "--circle", circle, "--output", file]
    words += ["--until", Self.time(until)]
    if let from { words += ["--from", Self.time(from)] }
    for device in devices { words += ["--device", device] }
    let outcome = try await device.run(words)
    guard outcome.code == 0 else { throw Failure("no certificate: \(outcome.errors)") }
    return file
  }

  static func time(_ secondsFromNow: TimeInterval) -> String {
    ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: secondsFromNow))
  }

  static let year: TimeInterval = 365 * 86_400
}

/// Devices of one circle on one stage. The first founded it, invited the others, and is running.
struct TestCircle: Sendable {
  let stage: Stage
  let seller: Seller
  let devices: [Device]

  var founder: Device { devices[0] }
  subscript(name: String) -> Device {
    guard let device = devices.first(where: { $0.name == name }) else {
      preconditionFailure("no device called \(name)")
    }
    return device
  }

  /// - Parameter isPremium: whether a certificate for the whole circle is installed and sync is on everywhere.
  static func make(
    _ names: [String], on stage: Stage, build: Build = .plain, isPremium: Bool
  ) async throws -> TestCircle {
    let devices = names.map { Device($0, on: stage, build: build) }
    let founder = devices[0]
    let seller = try await Seller.make(with: founder)
    let made = try await founder.json("init", "--name", founder.name, "--issuer", seller.publicKey)
    if isPremium {
      let circle = made["circle"]?.string ?? ""
      let file = try await seller.certificate(circle, until: Seller.year, with: founder)
      try await founder.text("entitlement", "install", file)
    }
    try await founder.start()
    for device in devices.dropFirst() { try await device.join(founder) }
    if isPremium { for device in devices { try await device.text("sync", "on") } }
    return TestCircle(stage: stage, seller: seller, devices: devices)
  }
}
