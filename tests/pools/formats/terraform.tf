# Pools of three clouds.
resource "google_container_node_pool" "gpu" {
  name           = "gpu"
  cluster        = google_container_cluster.main.name
  location       = "europe-west1"
  node_locations = ["europe-west1-b", "europe-west1-c"]
  count          = var.gpus ? 1 : 0

  autoscaling {
    min_node_count = 0
    max_node_count = 4
  }

  node_config {
    machine_type    = "g2-standard-8"
    spot            = true
    resource_labels = { "cost" = "ml" }
    labels = {
      "example.com/pool" : "gpu",
      critical = true
      level    = 3
      zone     = var.zone
    }
    taint {
      key    = "nvidia.com/gpu"
      value  = "present"
      effect = "NO_SCHEDULE"
    }
    taint {
      key    = "dedicated"
      value  = "gpu"
      effect = "NoSchedule"
    }
  }
}

resource "google_container_node_pool" "dynamic" {
  cluster = "main"
  node_config {
    labels = { pool = "dynamic" }
    dynamic "taint" {
      for_each = var.taints
      content {
        key    = taint.key
        effect = "NO_SCHEDULE"
      }
    }
  }
}

resource "aws_eks_node_group" "web" {
  cluster_name    = "shop"
  node_group_name = "web"
  instance_types  = ["m5.large", "m5.xlarge"] # Both have two cores per 8 GiB.
  capacity_type   = "SPOT"
  labels          = { pool = "web" }
  scaling_config {
    desired_size = 2
    min_size     = 1
    max_size     = 3
  }
  taint {
    key    = "dedicated"
    value  = "web"
    effect = "NO_EXECUTE"
  }
}

resource "azurerm_kubernetes_cluster" "main" {
  name = "main"
  default_node_pool {
    name                         = "system"
    vm_size                      = "Standard_D2_v2"
    node_count                   = 2
    only_critical_addons_enabled = true
    node_labels                  = { tier = "system" }
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "batch" {
  name                 = "batch"
  vm_size              = "Standard_D4_v2"
  auto_scaling_enabled = true
  min_count            = 1
  max_count            = 5
  node_labels          = merge(var.labels, { tier = "batch" })
  node_taints          = ["dedicated=batch:NoSchedule", "x=y:NoScedule"]
}
# --- read as
# google_container_node_pool gpu of - (described) 0..4 per zone; nvidia.com/gpu=present:NoSchedule; example.com/pool=gpu, critical=true, level=3, zone, *cloud.google.com/gke-nodepool=gpu, *cloud.google.com/gke-spot=true, node.kubernetes.io/instance-type=g2-standard-8, topology.kubernetes.io/zone=europe-west1-b|europe-west1-c, *topology.kubernetes.io/region=europe-west1; lost cost
# fault: `NoSchedule` is not a taint effect here; use `NO_SCHEDULE`, `PREFER_NO_SCHEDULE` or `NO_EXECUTE`; did you mean `NO_SCHEDULE`?
# google_container_node_pool dynamic of main (described) None..None; ; pool=dynamic, *cloud.google.com/gke-nodepool=dynamic; open
# aws_eks_node_group web of shop (described) 1..3; dedicated=web:NoExecute; pool=web, *eks.amazonaws.com/nodegroup=web, *eks.amazonaws.com/capacityType=SPOT, node.kubernetes.io/instance-type=m5.large|m5.xlarge
# azurerm_kubernetes_cluster system of - (described) 2..2; CriticalAddonsOnly=true:NoSchedule; tier=system, *kubernetes.azure.com/agentpool=system, *agentpool=system, *kubernetes.azure.com/mode=system, node.kubernetes.io/instance-type=Standard_D2_v2
# azurerm_kubernetes_cluster_node_pool batch of - (described) 1..5; dedicated=batch:NoSchedule; *kubernetes.azure.com/agentpool=batch, *agentpool=batch, *kubernetes.azure.com/mode=user, node.kubernetes.io/instance-type=Standard_D4_v2; open
# fault: `NoScedule` in `x=y:NoScedule` is not a taint effect here; use `NoSchedule`, `PreferNoSchedule` or `NoExecute`
