// swift-tools-version: 6.3
import PackageDescription

// Two programs that stand in for an app: each uses the library as its documentation says, and nothing else. They buy
// premium without a shop, hence the trait.
let package = Package(
  name: "embed",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "waymark", path: "../..", traits: ["MockPurchases"])],
  targets: [
    .executableTarget(name: "Life", dependencies: [.product(name: "Waymark", package: "waymark")]),
    .executableTarget(name: "Views", dependencies: [.product(name: "Waymark", package: "waymark")]),
  ]
)
